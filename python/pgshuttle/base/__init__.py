"""What all other packages need: errors, connections, JSON, the screen, numbers."""
