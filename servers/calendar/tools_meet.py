"""Tools for meeting others: invitations, rooms, absence."""

from __future__ import annotations

from dataclasses import replace

from servers.calendar.model import (
    Absence,
    Answer,
    EmailAddress,
    Event,
    EventId,
    Fault,
    Invitation,
    Response,
    Room,
    RoomId,
)
from servers.calendar.recurrence import to_local
from servers.calendar.rules import (
    ahead,
    away,
    check_conflict,
    check_room,
    editable_event,
    heads,
    me,
    person_of,
    readable_event,
    room_clash,
    room_of,
    upcoming,
)
from servers.calendar.server import server
from servers.calendar.views import AwayNotice, Booked, Invited, RoomItem, event_item
from servers.kernel.errors import ToolError
from servers.kernel.page import Limit, Offset, Page, Query, paginate, search
from servers.kernel.session import Session
from servers.kernel.types import Date


@server.tool()
def invite_to_event(session: Session, event_id: EventId, attendee: EmailAddress, optional: bool = False) -> Invited:
    """Invite a person to an event that the user organises.

    Args:
        event_id: the event, from list_calendar_events.
        attendee: the person, from list_colleagues.
        optional: whether they may stay away.

    Raises:
        read_only_calendar: the user may not change this calendar.
        not_organizer: somebody else organises it.
        event_cancelled: it was cancelled.
        event_over: it lies in the past.
        already_invited: the person is on the list or organises it.
        room_too_small: the room has no seat left.
    """
    event = editable_event(session, event_id)
    following = upcoming(session, event)
    person = person_of(session, attendee)
    key = f"{event.id}/{person.id}"
    if person.id == event.organizer or session.table(Invitation).get(key) is not None:
        raise ToolError(Fault.ALREADY_INVITED, f"{person.name} is part of {event.title} already.")
    absent = away(session, person.id, to_local(following.start, person.zone).date())
    response: Response = "declined" if absent else "needs_action"
    if event.room_id and response != "declined":
        room = room_of(session, event.room_id)
        if heads(session, event) >= room.seats:
            raise ToolError(
                Fault.ROOM_TOO_SMALL,
                f"All {room.seats} seats of {room.name} are taken; book_meeting_room with a larger room first.",
            )
    row = session.table(Invitation).add(Invitation(key, event.id, person.id, response, optional))
    return Invited(event.id, person.id, row.response)


@server.tool(idempotent=True)
def respond_to_invitation(
    session: Session, event_id: EventId, response: Answer, allow_conflict: bool = False
) -> Invited:
    """Accept, decline or tentatively accept an event that the user was invited to.

    Args:
        event_id: the event; list_calendar_events with unanswered shows the open ones.
        response: the user's answer.
        allow_conflict: accept it although the user is busy then.

    Raises:
        details_hidden: the user can't see the event.
        event_cancelled: it was cancelled.
        event_over: it lies in the past.
        not_invited: the user has no invitation to it.
        time_conflict: the user is busy then.
    """
    event = readable_event(session, event_id)
    user = me(session)
    invitation = session.table(Invitation).get(f"{event.id}/{user.id}")
    if invitation is None:
        raise ToolError(
            Fault.NOT_INVITED,
            f"You have no invitation to {event.title}; list_calendar_events with unanswered shows open ones.",
        )
    upcoming(session, event)
    if response == "accepted" and invitation.response != "accepted":
        check_conflict(session, ahead(session, event), allow_conflict)
    session.table(Invitation).put(replace(invitation, response=response))
    return Invited(event.id, user.id, response)


@server.tool(read_only=True)
def list_meeting_rooms(
    session: Session, query: Query = "", event_id: EventId | None = None, limit: Limit = 5, offset: Offset = 0
) -> Page[RoomItem]:
    """List meeting rooms with their ids, seats and features. Ordered by name.

    Args:
        query: words of the name or the features, such as projector.
        event_id: only open rooms that are free for this event and hold its guests.
        limit: most rooms to return.
        offset: how many to skip.

    Raises:
        details_hidden: the user can't see the event.
        event_cancelled: it was cancelled.
        event_over: it lies in the past.
    """
    rows = search(session.table(Room).all(), query, lambda row: f"{row.name} {row.features}")
    if event_id is not None:
        event = readable_event(session, event_id)
        planned, people = ahead(session, event), heads(session, event)
        rows = [
            row
            for row in rows
            if row.status == "open" and row.seats >= people and room_clash(session, row, planned) is None
        ]
    rows.sort(key=lambda row: (row.name, row.id))
    return paginate([RoomItem(row.id, row.name, row.seats, row.features, row.status) for row in rows], limit, offset)


@server.tool(idempotent=True)
def book_meeting_room(session: Session, event_id: EventId, room_id: RoomId) -> Booked:
    """Book a room for all coming occurrences of an event; it replaces the room that the event had.

    Args:
        event_id: the event, from list_calendar_events.
        room_id: the room; list_meeting_rooms with the event_id shows those that fit.

    Raises:
        read_only_calendar: the user may not change this calendar.
        not_organizer: somebody else organises the event.
        event_cancelled: it was cancelled.
        event_over: it lies in the past.
        room_closed: the room is out of use.
        room_too_small: it has fewer seats than guests.
        room_taken: somebody else has it at one of the times.
    """
    event, room = editable_event(session, event_id), room_of(session, room_id)
    planned, people = ahead(session, event), heads(session, event)
    if room.status == "closed":
        raise ToolError(Fault.ROOM_CLOSED, f"{room.name} is out of use; list_meeting_rooms shows open rooms.")
    if people > room.seats:
        raise ToolError(
            Fault.ROOM_TOO_SMALL,
            f"{room.name} has {room.seats} seats and {people} people come; "
            "list_meeting_rooms with this event_id shows rooms that are large enough.",
        )
    check_room(session, room, planned)
    booked = session.table(Event).put(replace(event, room_id=room.id))
    item = event_item(session, booked)
    return Booked(event.id, room.id, room.name, item.on, item.at)


@server.tool()
def set_out_of_office(session: Session, starts_on: Date, ends_on: Date, decline_meetings: bool = False) -> AwayNotice:
    """Mark the user as out of office for some days, and decline invitations on them if wished.

    Args:
        starts_on: the first day away.
        ends_on: the last day away.
        decline_meetings: decline single events on these days that the user was invited to.

    Raises:
        dates_reversed: the last day comes before the first.
        in_the_past: the first day has passed.
        already_away: another absence covers one of the days.
    """
    user = me(session)
    today = to_local(session.now, user.zone).date()
    if ends_on < starts_on:
        raise ToolError(Fault.DATES_REVERSED, f"{ends_on} comes before {starts_on}; swap the dates.")
    if starts_on < today:
        raise ToolError(Fault.IN_THE_PAST, f"Today is {today}; an absence starts today or later.")
    for row in session.table(Absence).where(email=user.id):
        if row.starts_on <= ends_on and row.ends_on >= starts_on:
            raise ToolError(
                Fault.ALREADY_AWAY, f"You are away from {row.starts_on} to {row.ends_on} already; choose other days."
            )
    session.table(Absence).add(Absence(session.new_id("OOO"), user.id, starts_on, ends_on))
    declined = 0
    for invitation in session.table(Invitation).where(email=user.id) if decline_meetings else []:
        event = session.table(Event).get(invitation.event_id)
        if event is None or event.rule or event.cancelled or invitation.response == "declined":
            continue
        if starts_on <= event_item(session, event).on <= ends_on:
            session.table(Invitation).put(replace(invitation, response="declined"))
            declined += 1
    return AwayNotice(starts_on, ends_on, declined)
