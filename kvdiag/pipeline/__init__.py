"""The floors in order: inputs → scan → events → history → findings."""
