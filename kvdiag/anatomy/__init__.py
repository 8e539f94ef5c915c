"""The anatomy of an error: from one record to the operation that failed, its innermost cause and the cause's object."""

PUBLIC = (
    "conditions",
    "decode",
    "error",
)
"""The modules that other packages may import."""
