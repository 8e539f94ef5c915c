"""One module a verb: what `kvdiag VERB` does, from options to the values that are shown."""
