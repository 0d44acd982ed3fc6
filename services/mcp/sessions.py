"""Sessions by credential. Control says what a credential opens; the answer is kept, because it does not change."""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from dayshift.connection import AsyncConnection
from dayshift.errors import ControlRefused, HarnessFault
from dayshift.wire import AgentAccess

from services.kernel import credentials
from services.kernel.errors import Unauthenticated, Unavailable
from services.mcp.session import Session

_MOST_KEPT = 4_096
# The playground stands for longer than the processes behind it.
_PLAYGROUND_SECONDS = 10.0
_RETRY_AFTER_SECONDS = 2

# Makes the session of a credential from what control says of it.
MakeSession = Callable[[AgentAccess, AsyncConnection], Awaitable[Session]]


class Sessions:
    """The sessions that were used last; one that is dropped is made anew when its agent comes back."""

    def __init__(self, control: AsyncConnection, now: Callable[[], float] = time.monotonic) -> None:
        self._control = control
        self._now = now
        self._kept: OrderedDict[bytes, tuple[Session, float]] = OrderedDict()

    def find(self, credential: str) -> Session | None:
        """Returns the session that is kept for a credential."""
        digest = credentials.digest(credential)
        session, until = self._kept.get(digest, (None, 0.0))
        if session is None or self._now() > until:
            return None
        self._kept.move_to_end(digest)
        return session

    async def find_or_open(self, credential: str, make: MakeSession) -> Session:
        if (session := self.find(credential)) is not None:
            return session
        made = await make(await self._ask(credential), self._control)
        # Another request of the same agent may have been quicker; both must count in the same session.
        return self.find(credential) or self._keep(credential, made)

    def _keep(self, credential: str, session: Session) -> Session:
        seconds = float("inf") if session.access.can_finish else _PLAYGROUND_SECONDS
        self._kept[credentials.digest(credential)] = session, self._now() + seconds
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return session

    async def _ask(self, credential: str) -> AgentAccess:
        try:
            return await self._control.run(self._control.address.control.access(credential))
        except ControlRefused as refused:
            raise Unauthenticated from refused
        except HarnessFault as fault:
            raise Unavailable(_RETRY_AFTER_SECONDS) from fault
