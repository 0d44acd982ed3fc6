"""One episode in two products: Zendesk's tickets through zenpy and Stripe's charges through stripe.

python examples/sdk_desk_and_billing.py
"""

import argparse
import os
import re
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

import dayshift
import stripe


def main() -> None:
    parser = argparse.ArgumentParser(description="Settle a double charge through zenpy and stripe.")
    parser.add_argument("--world", default="standard", help="the company's size (default %(default)s)")
    with dayshift.Episode.open("desk/double-charge", seed=3, world=parser.parse_args().world) as episode:
        print(f"brief: {episode.brief}\n")
        number = int(re.search(r"(?:[Tt]icket |request |#)(\d+)", episode.brief)[1])
        desk = desk_client(episode)
        ticket = desk.tickets(id=number)
        print(f"ticket {number}: {ticket.description}\n")

        amount = refund_the_second_charge(episode, ticket.organization.external_id)
        print(f"Stripe's SDK refunded {amount / 100:.2f}; zenpy answers and solves the ticket")
        ticket.comment = comment(f"Hello, you were charged twice; {amount / 100:.2f} is on its way back to you.")
        ticket.status, ticket.assignee_id = "solved", desk.users.me().id
        desk.tickets.update(ticket)
        verdict = episode.submit()
    print(f"{verdict.outcome}, reward {verdict.reward}")


def refund_the_second_charge(episode: dayshift.Episode, customer: str) -> int:
    access = episode.products["billing"]
    stripe.api_key, stripe.api_base = access.credential, access.base_url
    charges = stripe.Charge.list(customer=customer, limit=100).data
    paid = sorted((charge for charge in charges if charge.status == "succeeded"), key=lambda charge: charge.created)
    # A subscription is charged once a month; the two charges of one invoice are hours apart.
    _, second = min(pairwise(paid), key=lambda pair: pair[1].created - pair[0].created)
    return stripe.Refund.create(charge=second.id, reason="duplicate").amount


def desk_client(episode: dayshift.Episode) -> Any:
    access = episode.products["desk"]
    os.environ |= {"ZENPY_FORCE_NETLOC": urlsplit(access.base_url).netloc, "ZENPY_FORCE_SCHEME": "http"}
    from zenpy import Zenpy  # zenpy reads the address from the environment when it is imported

    return Zenpy(subdomain="support", oauth_token=access.credential, disable_cache=True)


def comment(text: str) -> Any:
    from zenpy.lib.api_objects import Comment  # as above

    return Comment(body=text, public=True)


if __name__ == "__main__":
    main()
