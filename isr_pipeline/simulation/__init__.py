"""The world in time: event queue, request path, controller, faults."""
