"""The rules of the two simulated worlds that an assistant must know to serve a user.

Facts of the benchmark (dates, allowances, fees, who must be asked what), in our own words.
"""

from __future__ import annotations

from collections.abc import Mapping

from stages.evaluate.acebench.data import Language

_PHONE_EN = (
    "It is 11 June 2024, 16:00 in Beijing. You help with a phone: messages, reminders, food delivery.\n"
    "Names are full names. To send a message you need its sender and its receiver. If the inbox is full, ask which "
    "message may go. Reading messages needs login_device() first; then ask whether to add a reminder or to reply, "
    "and, where a message is about food, whether to order. A reminder needs a title and a text; its time is now unless "
    "the user says otherwise. After showing a reminder, ask whether to do what it says. A food order needs the "
    "platform's account and password (login_food_platform), a merchant, products and quantities; order from one "
    "merchant at a time. If the balance is too low, say so and ask whether to change the order."
)
_TRAVEL_EN = (
    "It is 15 July 2024, 08:00 in Beijing. You book, change and cancel flights.\n"
    "Ask for the user's id and password first. Before you book, change or cancel, list the details and await a yes; "
    "one yes is enough for things of one kind. Look flights up before you book. A round trip is two bookings. With no "
    "direct flight, ask for a city to change planes in and book both legs. Payment is cash or bank: ask which.\n"
    "Free bags in economy and business class: 1 and 2 for regular members, 2 and 3 for silver, 3 and 3 for gold; each "
    "further bag costs 50 yuan. Bags can be added, not taken away. A change keeps origin and destination; a change of "
    "cabin costs or refunds the difference and holds for the whole booking. To cancel, ask for the booking and the "
    "reason; a trip of which a part was flown can't be cancelled."
)
_PHONE_ZH = (
    "现在是北京时间2024年6月11日16:00。你负责手机上的短信、提醒和外卖。\n"
    "用户说的名字就是全名。发短信要知道发送者和接收者；收件箱已满时，问用户删哪一条。看短信前先login_device()；"
    "看完后问是否加入提醒、是否回复；短信谈到外卖时，问是否下单。提醒要有标题和内容，时间默认为现在。"
    "查看某条提醒后，问是否照办。点外卖要有平台的账号和密码（login_food_platform）、商家、商品和数量，"
    "一次只在一家下单。余额不够时告诉用户，并问是否更改。"
)
_TRAVEL_ZH = (
    "现在是北京时间2024年7月15日08:00。你负责订票、改签和退票。\n"
    "先问用户ID和密码。订票、改签、退票之前，列出细节并等用户说“是”；同类事项确认一次即可。先查航班再订。"
    "往返是两次预订。没有直飞时，问在哪个城市中转，并订好两段。付款方式是cash或bank，要问清楚。\n"
    "免费行李（经济舱、商务舱）：普通会员1件、2件，银卡2件、3件，金卡3件、3件；多出的每件50元。行李只能加不能减。"
    "改签不改出发地和目的地；换舱位补差价或退差价，同一预订的舱位必须一致。退票要问预订号和原因；已飞过一段的行程不能退。"
)

PHONE: Mapping[Language, str] = {"en": _PHONE_EN, "zh": _PHONE_ZH}
TRAVEL: Mapping[Language, str] = {"en": _TRAVEL_EN, "zh": _TRAVEL_ZH}
