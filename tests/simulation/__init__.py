"""The world itself: what each kind of fault does to events and measures."""
