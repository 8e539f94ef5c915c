"""Paths, folders, compressed files and standard input → sources of bytes."""
