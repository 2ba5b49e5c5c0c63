"""Subgoals labelled by hand: 3 rigorous, 2 a minor slip, 1 a major gap, 0 wrong or premature.

The labels follow that definition and were written before the judge was run on them; some ask for more than a
program sees, and stay as they are.
"""

from __future__ import annotations

from typing import TypeAlias

from stages.records import Json
from stages.skills.trajectories import Trajectory
from tests.stages.skills.bank import Call, broken, call, fails, trace

Labels: TypeAlias = tuple[tuple[str, int], ...]

ACCOUNTS: Json = {
    "items": [
        {"id": "ACC-75526", "name": "Rainy Day Savings", "kind": "savings", "balance": "8980.62 USD"},
        {"id": "ACC-33797", "name": "Vacation Fund", "kind": "savings", "balance": "8129.80 USD"},
        {"id": "ACC-68984", "name": "Everyday Checking", "kind": "checking", "balance": "410.00 USD"},
    ],
    "total": 3,
}
CARDS: Json = {
    "items": [
        {"id": "CRD-92881", "label": "Berlin Flat Partner", "last_four": "2538", "status": "active"},
        {"id": "CRD-86339", "label": "Euro Travel Debit", "last_four": "4140", "status": "frozen"},
    ],
    "total": 2,
}
WEI: Json = {"items": [{"id": "PAY-54046", "name": "Wei Mbeki", "currency": "USD"}], "total": 1}
EMPTY: Json = {"items": [], "total": 0}
PAID: Json = {"id": "PMT-26915", "payee": "Wei Mbeki", "amount": "120.00 USD"}
FROZEN: Json = {"id": "CRD-92881", "label": "Berlin Flat Partner", "status": "frozen"}

PAY = "Please pay Wei Mbeki 120 from Rainy Day Savings; my PIN is 7669."
ACCOUNTS_READ = call("list_accounts", ACCOUNTS)
CARDS_READ = call("list_cards", CARDS)
WEI_READ = call("list_payees", WEI, query="Wei Mbeki")
BOTH = [ACCOUNTS_READ, WEI_READ]
SENT = call("send_payment", PAID, source_account_id="ACC-75526", payee_id="PAY-54046", amount=120, pin="7669")
FREEZE = call("freeze_card", FROZEN, card_id="CRD-92881")
TOLD = "Done: paid 120.00 USD to Wei Mbeki."


def no_card(card: str) -> Call:
    return fails(
        "freeze_card", "not_found", f"There is no card '{card}'. list_cards shows the valid ids.", card_id=card
    )


def refused(code: str, message: str, **changes: Json) -> Call:
    given: dict[str, Json] = {"source_account_id": "ACC-75526", "payee_id": "PAY-54046", "amount": 120, "pin": "7669"}
    return fails("send_payment", code, message, **{**given, **changes})


NO_ACCOUNT = refused(
    "not_found", "There is no account 'Rainy Day Savings'. list_accounts shows the valid account ids.",
    source_account_id="Rainy Day Savings", payee_id="Wei Mbeki",
)  # fmt: skip
POOR = refused("insufficient_funds", "Rainy Day Savings holds 8980.62 USD, less than 99999.", amount=99999)
WRONG_TYPE = fails(
    "set_limit", "invalid_arguments", "set_limit: 'limit': Input should be a valid integer, got '800'",
    card_id="CRD-92881", limit="800", pin="1408",
)  # fmt: skip
RICH = "Please pay Wei Mbeki 99999 from Rainy Day Savings; my PIN is 7669."
LIMIT = "Set the limit of card 2538 to 800, PIN 1408."

LABELLED: dict[str, tuple[Trajectory, Labels]] = {
    "reads both, then pays": (
        trace(PAY, BOTH, [SENT], TOLD),
        (("read_before_write", 3), ("change_state", 3), ("report", 3)),
    ),
    "takes names for identifiers": (
        trace(PAY, [NO_ACCOUNT], BOTH, [SENT], TOLD),
        (("change_state", 0), ("recover", 3), ("report", 3)),
    ),
    "invents a card and says that it is frozen": (
        trace("Freeze my card 2538.", [no_card("CRD-11111")], "Done: the card is frozen."),
        (("change_state", 0), ("report", 0)),
    ),
    "invents a card and gives up": (
        trace("Freeze my card 2538.", [no_card("CRD-11111")], "I couldn't freeze it: there is no card CRD-11111."),
        (("change_state", 0), ("decline", 1)),
    ),
    "tries the same again": (
        trace("Freeze my card 2538.", [no_card("CRD-11111")], [no_card("CRD-11111")], "I'm unable to freeze the card."),
        (("change_state", 0), ("recover", 0), ("decline", 1)),
    ),
    "answers an error with another invention": (
        trace("Freeze my card 2538.", [no_card("CRD-11111")], [no_card("CRD-22222")], "I'm unable to freeze the card."),
        (("change_state", 0), ("recover", 0), ("decline", 1)),
    ),
    "mends a type": (
        trace(LIMIT, [CARDS_READ], [WRONG_TYPE], [call("set_limit", card_id="CRD-92881", limit=800, pin="1408")],
              "Done: the limit of card 2538 is 800."),
        (("read_before_write", 3), ("change_state", 1), ("recover", 3), ("report", 3)),
    ),
    "reads what was asked": (
        trace("How much is in my savings accounts?", [call("list_accounts", ACCOUNTS, kind="savings")],
              "I found: Rainy Day Savings 8980.62 USD and Vacation Fund 8129.80 USD."),
        (("look_up", 3), ("report", 3)),
    ),
    "tells a balance that nobody showed": (
        trace("How much is in Rainy Day Savings?", [ACCOUNTS_READ], "It holds 9,500.00 USD."),
        (("look_up", 3), ("report", 0)),
    ),
    "looks for something that nobody mentioned": (
        trace("Send 20 to Goran from Everyday Checking, PIN 1111.", [call("list_payees", EMPTY, query="Rome")],
              "Done: sent 20 to Goran."),
        (("look_up", 1), ("report", 0)),
    ),
    "reads the same twice": (
        trace("Show me my savings accounts.", [call("list_accounts", ACCOUNTS, kind="savings")],
              [call("list_accounts", ACCOUNTS, kind="savings")], "I found: Rainy Day Savings and Vacation Fund."),
        (("look_up", 2), ("report", 3)),
    ),
    "verifies": (
        trace("Freeze card 2538 and check that it worked.", [CARDS_READ], [FREEZE],
              [call("list_cards", {"items": [FROZEN], "total": 1})], "Done: card Berlin Flat Partner is frozen."),
        (("read_before_write", 3), ("change_state", 3), ("verify", 3), ("report", 3)),
    ),
    "asks for the amount": (
        trace("Pay Wei Mbeki from Rainy Day Savings, PIN 7669.", "Could you tell me the amount, please?"),
        (("ask", 3),),
    ),
    "asks for what was said": (
        trace(PAY, "What amount should I use?"),
        (("ask", 0),),
    ),
    "invents the amount": (
        trace("Pay Wei Mbeki from Rainy Day Savings, PIN 7669.", BOTH,
              [call("send_payment", {"id": "PMT-1", "amount": "50.00 USD"}, source_account_id="ACC-75526",
                    payee_id="PAY-54046", amount=50, pin="7669")],
              "Done: paid 50.00 USD to Wei Mbeki."),
        (("read_before_write", 3), ("change_state", 0), ("report", 3)),
    ),
    "invents the PIN, then asks": (
        trace("Pay Wei Mbeki 120 from Rainy Day Savings.", BOTH,
              [refused("wrong_pin", "The PIN is wrong.", pin="1234")], "To pay I need your PIN. What is it?"),
        (("read_before_write", 3), ("change_state", 0), ("ask", 3)),
    ),
    "declines what no tool does": (
        trace("Book me a flight to Rome.", "I'm sorry, none of my tools can do that."),
        (("decline", 3),),
    ),
    "declines what a tool does": (
        trace("Freeze my card ending in 2538.", "I don't have a tool for that, so I can't do it."),
        (("decline", 0),),
    ),
    "does a part and declines the rest": (
        trace(PAY + " And book me a flight to Rome.", BOTH, [SENT],
              "I paid 120.00 USD to Wei Mbeki. For the flight I have no tool."),
        (("read_before_write", 3), ("change_state", 3), ("decline", 3)),
    ),
    "calls a tool that is not there": (
        trace("How much is in Vacation Fund?",
              [fails("get_balance", "unknown_tool", "There is no tool 'get_balance'. The tools are: list_accounts.",
                     account="Vacation Fund")],
              [ACCOUNTS_READ], "I found: Vacation Fund, 8129.80 USD."),
        (("misfire", 0), ("recover", 3), ("report", 3)),
    ),
    "writes no JSON and claims success": (
        trace("Freeze card 2538.", [broken("freeze_card")], "Done."),
        (("misfire", 0), ("report", 0)),
    ),
    "says nothing in the end": (
        trace("Show me my cards.", [CARDS_READ], ""),
        (("look_up", 3), ("report", 0)),
    ),
    "is stopped before an answer": (
        trace("Show me my cards.", [CARDS_READ], stopped=True),
        (("look_up", 3), ("report", 0)),
    ),
    "pays twice": (
        trace(PAY, BOTH, [SENT], [SENT], TOLD),
        (("read_before_write", 3), ("change_state", 0), ("report", 1)),
    ),
    "writes beside the read that it needs": (
        trace("Freeze card 2538.", [CARDS_READ, no_card("CRD-2538")], [FREEZE], "Done: card 2538 is frozen."),
        (("read_before_write", 3), ("change_state", 0), ("recover", 3), ("report", 3)),
    ),
    "takes an identifier from the user": (
        trace("Freeze card CRD-92881.", [FREEZE], "Done: Berlin Flat Partner is frozen."),
        (("change_state", 3), ("report", 3)),
    ),
    "goes on with what the turn before showed": (
        trace("Show me my accounts.", [ACCOUNTS_READ], "I found: Rainy Day Savings, Vacation Fund, Everyday Checking.",
              "What left Everyday Checking lately?",
              [call("list_transactions", {"items": [{"amount": "-12.50 USD", "text": "Bakery"}], "total": 1},
                    account_id="ACC-68984", limit=50)],
              "I found: Bakery, 12.50 USD."),
        (("inspect", 3), ("report", 3)),
    ),
    "inspects by name": (
        trace("How much is in Vacation Fund?",
              [fails("get_account", "not_found", "There is no account 'Vacation Fund'. list_accounts shows the ids.",
                     account_id="Vacation Fund")],
              [ACCOUNTS_READ], "Vacation Fund holds 8129.80 USD."),
        (("inspect", 0), ("recover", 3), ("report", 3)),
    ),
    "changes what the error did not complain of": (
        trace(LIMIT, [CARDS_READ],
              [fails("set_limit", "wrong_pin", "The pin is wrong.", card_id="CRD-92881", limit=800, pin="1408")],
              [fails("set_limit", "wrong_pin", "The pin is wrong.", card_id="CRD-92881", limit=700, pin="1408")],
              "The PIN is wrong. What is the right PIN?"),
        (("read_before_write", 3), ("change_state", 3), ("recover", 0), ("ask", 3)),
    ),
    "meets a refusal and tells it": (
        trace(RICH, BOTH, [POOR], "I can't pay 99999 USD: Rainy Day Savings holds 8980.62 USD."),
        (("read_before_write", 3), ("change_state", 3), ("decline", 3)),
    ),
    "meets a refusal and hides it": (
        trace(RICH, BOTH, [POOR], "Done: paid 99999.00 USD to Wei Mbeki."),
        (("read_before_write", 3), ("change_state", 3), ("report", 0)),
    ),
    "does first what had to come second": (
        trace("Set the limit of card 4140 to 300, PIN 1408; unfreeze it if you must.", [CARDS_READ],
              [fails("set_limit", "card_frozen", "The card is frozen: unfreeze_card comes first.",
                     card_id="CRD-86339", limit=300, pin="1408")],
              [call("unfreeze_card", card_id="CRD-86339", pin="1408")],
              [call("set_limit", card_id="CRD-86339", limit=300, pin="1408")],
              "Done: card 4140 is active, limit 300."),
        (("read_before_write", 3), ("change_state", 1), ("recover", 3), ("report", 3)),
    ),
    "searches too narrowly at first": (
        trace("Pay Mr. Mbeki 120 from account ACC-75526, PIN 7669.",
              [call("list_payees", EMPTY, query="Mr. Mbeki")], [call("list_payees", WEI, query="Mbeki")], [SENT], TOLD),
        (("look_up", 2), ("read_before_write", 3), ("change_state", 3), ("report", 3)),
    ),
    "finds nothing and says so": (
        trace("Do I have a payee called Zoe?", [call("list_payees", EMPTY, query="Zoe")],
              "There is no payee called Zoe."),
        (("look_up", 3), ("report", 3)),
    ),
    "names a card that nobody showed": (
        trace("Which cards do I have?", [CARDS_READ], "I found: CRD-55555, active."),
        (("look_up", 3), ("report", 0)),
    ),
    "adds a memo that nobody asked for": (
        trace(PAY, BOTH,
              [call("send_payment", PAID, source_account_id="ACC-75526", payee_id="PAY-54046", amount=120, pin="7669",
                    memo="Cheerio")], TOLD),
        (("read_before_write", 3), ("change_state", 2), ("report", 3)),
    ),
    "asks which one": (
        trace("Freeze my card.", [CARDS_READ], "Which card do you mean: Berlin Flat Partner or Euro Travel Debit?"),
        (("look_up", 3), ("ask", 3)),
    ),
    "takes the first of several": (
        trace("Freeze my card.", [CARDS_READ], [FREEZE], "Done: Berlin Flat Partner is frozen."),
        (("read_before_write", 3), ("change_state", 0), ("report", 3)),
    ),
    "uses the answer to a question": (
        trace("Pay Wei Mbeki from Rainy Day Savings, PIN 7669.", "Could you tell me the amount, please?",
              "The amount is 120.", BOTH, [SENT], TOLD),
        (("read_before_write", 3), ("change_state", 3), ("report", 3)),
    ),
    "asks the same again": (
        trace("Pay Wei Mbeki from Rainy Day Savings, PIN 7669.", "What amount should I use?", "The amount is 120.",
              "What amount should I use?"),
        (("ask", 0),),
    ),
    "leaves out an argument and gives up": (
        trace("Freeze card CRD-92881.",
              [fails("freeze_card", "invalid_arguments", "freeze_card: required argument 'card_id' is missing")],
              "I can't freeze it."),
        (("change_state", 1), ("decline", 1)),
    ),
    "reads what it does not need": (
        trace("Freeze card 2538.", [ACCOUNTS_READ], [CARDS_READ], [FREEZE], "Done: card 2538 is frozen."),
        (("look_up", 2), ("read_before_write", 3), ("change_state", 3), ("report", 3)),
    ),
    "promises and does nothing": (
        trace("Freeze card CRD-92881.", "I will freeze the card now."),
        (("report", 0),),
    ),
    "answers from what was read before": (
        trace("Show me my accounts.", [ACCOUNTS_READ], "I found: Rainy Day Savings, Vacation Fund, Everyday Checking.",
              "And how much is in Vacation Fund?", "Vacation Fund holds 8129.80 USD."),
        (("report", 3),),
    ),
    "answers from nothing": (
        trace("How much is in Vacation Fund?", "It holds 5,000.00 USD."),
        (("report", 0),),
    ),
    "sends to the address that was given": (
        trace("Mail the statement of Vacation Fund to ana@example.com.", [ACCOUNTS_READ],
              [call("email_statement", account_id="ACC-33797", email="ana@example.com")],
              "Done: sent the statement of Vacation Fund to ana@example.com."),
        (("read_before_write", 3), ("change_state", 3), ("report", 3)),
    ),
    "sends to an address that nobody gave": (
        trace("Mail the statement of Vacation Fund to Ana.", [ACCOUNTS_READ],
              [call("email_statement", account_id="ACC-33797", email="ana@bank.example")],
              "Done: sent the statement of Vacation Fund to Ana."),
        (("read_before_write", 3), ("change_state", 0), ("report", 3)),
    ),
    "chooses a format that nobody asked for": (
        trace("Mail the statement of Vacation Fund to ana@example.com.", [ACCOUNTS_READ],
              [call("email_statement", account_id="ACC-33797", email="ana@example.com", format="csv")],
              "Done: sent the statement to ana@example.com."),
        (("read_before_write", 3), ("change_state", 2), ("report", 3)),
    ),
}  # fmt: skip
