"""Video meetings as one of their hosts sees them."""

from servers.video_meeting.tools import server

__all__ = ["server"]
