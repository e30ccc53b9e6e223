"""Pictures: for terminals, pages and papers."""
