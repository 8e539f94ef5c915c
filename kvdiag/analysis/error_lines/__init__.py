"""Lines of level warning or worse: counted, grouped, and which of them no finding or benign entry explains."""
