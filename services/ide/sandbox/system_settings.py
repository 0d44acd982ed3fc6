"""Texts of the files that a sandbox's system has of our own: /etc, scripts, and where packages come from."""

HOME = "/home/dev"
WHEELS = "/usr/local/share/wheels"
SCRIPTS = {
    "pytest": "#!{python}\nimport sys\nfrom pytest import main\nsys.exit(main())\n",
    "ssh": "#!{python} -IS\nimport sys\nsys.path.insert(0, '{toolbox}')\nimport guest.ssh\n",
}
ETC = {
    "passwd": f"root:x:0:0:root:/root:/usr/sbin/nologin\ndev:x:1000:1000:dev:{HOME}:/bin/bash\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    "group": "root:x:0:\ndev:x:1000:\nnogroup:x:65534:\n",
    "bash.bashrc": "PS1='\\u@\\h:\\w\\$ '\n",
    # Servers that listen everywhere ask for the name of that.
    "hosts": "127.0.0.1 localhost devbox\n::1 localhost devbox\n0.0.0.0 devbox\n:: devbox\n",
    "hostname": "devbox\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    # There is no way to it: a name that is not known here is looked up outside, as an address there would be.
    "resolv.conf": "nameserver 10.0.2.3\noptions timeout:1 attempts:1\n",
    "gitconfig": "[init]\n\tdefaultBranch = main\n[core]\n\tcheckStat = minimal\n\ttrustctime = false\n"
    "\tsshCommand = /usr/local/bin/ssh\n[safe]\n\tdirectory = *\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n"
    "[advice]\n\tdetachedHead = false\n[uploadpack]\n\tallowFilter = true\n",
}
# Besides, where there are wheels.
INDEX_ETC = {
    "pip.conf": f"[global]\nno-index = true\nfind-links = {WHEELS}\ndisable-pip-version-check = true\n",
    "uv/uv.toml": f'no-index = true\nfind-links = ["{WHEELS}"]\noffline = true\npython-downloads = "never"\n',
}
# Beside npm itself: nobody answers, and nothing is asked for by itself.
NPM_SETTINGS = "offline = true\naudit = false\nfund = false\nupdate-notifier = false\n"
# `python -m venv` asks it for pip. Interpreters differ in where theirs has it from, and some have none.
ENSURE_PIP = f'''"""Installs pip into a virtual environment."""

import runpy
import sys
from pathlib import Path


def _wheel():
    return next(Path("{WHEELS}").glob("pip-*.whl"))


def version():
    return _wheel().name.split("-")[1]


def bootstrap(**_):
    wheel = str(_wheel())
    sys.path.insert(0, wheel)
    sys.argv = ["pip", "install", "-q", "--no-index", "--no-deps", "--disable-pip-version-check", wheel]
    runpy.run_module("pip", run_name="__main__", alter_sys=True)
'''
