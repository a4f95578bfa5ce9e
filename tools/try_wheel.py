"""What an installed wheel must do, run by the Python that it was installed for: try_wheel.py FOLDER URL CODE.

FOLDER holds a model with its input and output, and the root metadata of the server behind URL. Needs the
wheel and NumPy alone. tools/wheel_trial.py prepares the rest and runs this.
"""

import sys
from pathlib import Path

TOUCHED = []


def watch(event, arguments):
    """Note what an import has no business with."""
    writes = event == "open" and arguments[1] and set(str(arguments[1])) & set("wax+")
    if writes or event.startswith("socket."):
        TOUCHED.append((event, arguments[0]))


def a_silent_import(folder):
    sys.dont_write_bytecode = True
    sys.addaudithook(watch)
    import walle_rt

    assert not TOUCHED, TOUCHED
    assert Path(walle_rt.__file__).is_relative_to(folder), walle_rt.__file__


def a_model(folder):
    import numpy as np

    import walle_rt

    session = walle_rt.load(folder / "model.walle").session(threads=2, plan_cache="off")
    found = next(iter(session.run(dict(np.load(folder / "input.npz"))).values()))
    wanted = np.load(folder / "output.npy")
    assert found.shape == wanted.shape
    worst = float(np.abs(found - wanted).max() / np.abs(wanted).max())
    assert worst < 1e-4, worst


def a_task():
    from walle_rt.vm import VM, Isolate, TaskBundle

    source = "import json\ndef f(x):\n    return json.dumps(x)\n"
    bundle = TaskBundle.from_source({"main": source})
    for flavour in ("full", "device"):
        vm = VM(flavour)
        with Isolate(vm) as isolate:
            isolate.load(TaskBundle(bundle.data, vm))
            assert isolate.call("f", {"a": [1, None]}) == '{"a": [1, null]}'


def an_enrolment(folder, url, code):
    from walle_rt.device import Device

    with Device(folder / "device") as device:
        root = (folder / "root.json").read_bytes()
        device.connect(url, root=root, app="com.example.shop", app_version="1.0.0", enrol_code=code,
                       transport="python")  # fmt: skip
        state = device.pull()
        assert (state.error, state.tasks["shop"].version) == ("", "1.0.0"), state
        device.record("buy", contents={"price": 8})
        assert device.wait(60)
        assert device.results("shop").last(1).column("price").tolist() == [8]


def main():
    folder, url, code = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    a_silent_import(folder)
    a_model(folder)
    a_task()
    an_enrolment(folder, url, code)
    print("a model, a task and an enrolment worked")


main()
