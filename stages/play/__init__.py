"""A person calls tools by hand on a live session, and sees what changes and what a policy would have earned."""
