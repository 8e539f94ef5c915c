"""An analysis or a timeline → one HTML page that needs nothing from elsewhere and can be read without JavaScript."""
