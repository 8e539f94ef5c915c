"""Where the secrets of a text are: what names them, what they look like, and how far each goes."""
