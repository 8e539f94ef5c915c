"""From a line to a named event: the vocabulary, its templates, and the names things go by."""
