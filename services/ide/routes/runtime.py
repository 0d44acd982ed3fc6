"""The remote runtime's nine calls."""

from fastapi import Request, Response
from starlette.datastructures import UploadFile

from services.ide.errors import RuntimeFailed
from services.ide.operations import runtime
from services.ide.schemas.runtime import ActionIn, CloseSessionIn, CommandIn, CreateSessionIn, ReadIn, WriteIn
from services.kernel.answers import Json
from services.kernel.app import CurrentWorld, product_router
from services.kernel.errors import MalformedRequest

router = product_router()


@router.get("/is_alive", operation_id="ide.runtime.is_alive")
async def is_alive(_: CurrentWorld) -> Response:
    """Whether the runtime answers."""
    return Json({"is_alive": True, "message": ""})


@router.post("/create_session", operation_id="ide.runtime.create_session")
async def create_session(body: CreateSessionIn, world: CurrentWorld) -> Response:
    """Open a shell on a terminal of its own."""
    output = await runtime.create_session(world, body.session, body.startup_source)
    return Json({"output": output, "session_type": "bash"})


@router.post("/run_in_session", operation_id="ide.runtime.run_in_session")
async def run_in_session(body: ActionIn, world: CurrentWorld) -> Response:
    """Run a command in a shell, speak to a program that runs there, or interrupt it."""
    if body.action_type == "bash_interrupt":
        observation = await runtime.interrupt(world, body.session, body.timeout or 0.2, body.n_retry)
    elif body.is_interactive_command or body.is_interactive_quit:
        observation = await runtime.interact(world, body.session, body.command, body.timeout, body.expect)
    else:
        observation = await runtime.run(
            world, body.session, body.command, body.timeout, body.check, body.expect, body.error_msg
        )
    return Json(
        {
            "output": observation.output,
            "exit_code": observation.exit_code,
            "failure_reason": "",
            "expect_string": observation.matched,
            "session_type": "bash",
        }
    )


@router.post("/close_session", operation_id="ide.runtime.close_session")
async def close_session(body: CloseSessionIn, world: CurrentWorld) -> Response:
    """Close a shell."""
    await runtime.close_session(world, body.session)
    return Json({"session_type": "bash"})


@router.post("/execute", operation_id="ide.runtime.execute")
async def execute(body: CommandIn, world: CurrentWorld) -> Response:
    """Run a program outside of any shell's state."""
    result = await runtime.execute(
        world,
        body.command,
        body.cwd,
        body.env or {},
        body.timeout,
        shell=body.shell,
        merged=body.merge_output_streams,
    )
    if body.check and result.exit_code:
        words = f"Command {body.command!r} failed with exit code {result.exit_code}"
        words = f"{body.error_msg}: {words}" if body.error_msg else words
        raise RuntimeFailed(
            "swerex.exceptions.NonZeroExitCodeError",
            f"{words}. Stdout:\n{result.text!r}\nStderr:\n{result.error_text!r}",
        )
    return Json({"stdout": result.text, "stderr": result.error_text, "exit_code": result.exit_code})


@router.post("/read_file", operation_id="ide.runtime.read_file")
async def read_file(body: ReadIn, world: CurrentWorld) -> Response:
    """A file's text."""
    return Json({"content": await runtime.read(world, body.path, body.encoding, body.errors)})


@router.post("/write_file", operation_id="ide.runtime.write_file")
async def write_file(body: WriteIn, world: CurrentWorld) -> Response:
    """Write a file's text."""
    await runtime.write(world, body.path, body.content.encode())
    return Json({})


@router.post("/upload", operation_id="ide.runtime.upload")
async def upload(request: Request, world: CurrentWorld) -> Response:
    """Write an uploaded file, or unpack an uploaded archive."""
    form = await request.form()
    file, target = form.get("file"), form.get("target_path")
    if not isinstance(file, UploadFile) or not isinstance(target, str):
        raise MalformedRequest("the parts file and target_path are needed")
    content = await file.read()
    if str(form.get("unzip", "false")).lower() == "true":
        await runtime.unpack(world, target, content)
    else:
        await runtime.write(world, target, content)
    return Json({})


@router.post("/close", operation_id="ide.runtime.close")
async def close(_: CurrentWorld) -> Response:
    """Say goodbye; the workspace stays."""
    return Json({})
