"""What the desk does by itself: conditions and actions of rules, triggers, automations, service levels."""
