"""One episode through Gymnasium, from the brief to the verdict: a scripted agent corrects a phone number.

make up                          # in the clone, in another terminal, or docker compose up
python examples/quickstart.py
"""

import json
import re

import dayshift
import gymnasium


def main() -> None:
    env = gymnasium.make("dayshift/Crm-v0", task="crm/correct-contact", render_mode="ansi")
    observation, _ = env.reset(seed=8)
    print(f"brief: {observation['brief']}\n")
    email, phone = read_brief(observation["brief"])

    same_address = {"propertyName": "email", "operator": "EQ", "value": email}
    search = dayshift.call("crm.contacts.search", filterGroups=[{"filters": [same_address]}], limit=1)
    observation, *_ = env.step(search)
    contact = json.loads(observation["body"])["results"][0]
    print(env.render())

    env.step(dayshift.call("crm.contacts.update", contactId=contact["id"], properties={"phone": phone}))
    _, reward, _, _, info = env.step(dayshift.call("submit"))
    print(f"\n{info['verdict']['outcome']}, reward {reward}")
    for finding in info["verdict"]["findings"]:
        print(f"{finding['check']}: {finding['because']}")
    env.close()


def read_brief(brief: str) -> tuple[str, str]:
    """Returns the address, which stands in parentheses, and the number; a model would read them for itself."""
    email = re.search(r"\((\S*[A-Za-z]\S*)\)", brief)[1]
    phone = re.search(r"(?<!\w)\+?\(?\d[\d ()./-]{5,}\d", brief.replace(email, ""))[0]
    return email, phone


if __name__ == "__main__":
    main()
