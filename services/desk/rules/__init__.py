"""What the desk does by itself: conditions, views, macros, triggers, automations, service levels."""
