"""One episode, from the brief to the verdict.

python -m services up            # in another terminal
python examples/quickstart.py
"""

import dayshift
import gymnasium


def main() -> None:
    env = gymnasium.make("dayshift/Crm-v0", task="crm/correct-contact", render_mode="ansi")
    observation, _ = env.reset(seed=7)
    print(observation["brief"])

    call = dayshift.call("crm.contacts.list", limit=3)
    observation, reward, terminated, truncated, info = env.step(call)
    print(env.render())

    while not (terminated or truncated):
        observation, reward, terminated, truncated, info = env.step(dayshift.call("submit"))
    print(f"{info['verdict']['outcome']}, reward {reward}")
    env.close()


if __name__ == "__main__":
    main()
