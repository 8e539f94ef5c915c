"""Lines of level warning or worse: counted, grouped, and what of them no finding and no benign entry explains."""
