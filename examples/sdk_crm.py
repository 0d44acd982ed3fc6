"""An episode in the CRM through HubSpot's own SDK, which needs only the URL and the credential of the episode.

python examples/sdk_crm.py
"""

import argparse
import re

import dayshift
from hubspot import HubSpot
from hubspot.crm.contacts import PublicObjectSearchRequest, SimplePublicObjectInput


def main() -> None:
    parser = argparse.ArgumentParser(description="Correct a phone number through HubSpot's SDK.")
    parser.add_argument("--world", default="standard", help="the company's size (default %(default)s)")
    with dayshift.Episode.open("crm/correct-contact", seed=8, world=parser.parse_args().world) as episode:
        print(f"brief: {episode.brief}")
        access = episode.products["crm"]
        contacts = HubSpot(access_token=access.credential, host=access.base_url).crm.contacts
        email, phone = re.search(r"\((.+?)\) says .+ phone is (.+?)\. Please", episode.brief).groups()
        by_email = [{"filters": [{"propertyName": "email", "operator": "EQ", "value": email}]}]
        contact = contacts.search_api.do_search(PublicObjectSearchRequest(filter_groups=by_email, limit=1)).results[0]
        print(f"HubSpot's SDK found contact {contact.id}; its phone becomes {phone}")
        contacts.basic_api.update(contact.id, SimplePublicObjectInput(properties={"phone": phone}))
        verdict = episode.submit()
    print(f"{verdict.outcome}, reward {verdict.reward}")


if __name__ == "__main__":
    main()
