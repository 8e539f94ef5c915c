"""Write a report or timelines as one self-contained HTML page that is readable without JavaScript."""
