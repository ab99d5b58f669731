"""An agent that speaks the Agent Client Protocol, as the tests want it: `agent.py WAY [LOG]`. LOG gets what it was asked, a line each."""
import json
import os
import signal
import sys
import time

way, log = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else os.devnull
session = "s-1"


def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def note(text):
    with open(log, "a") as file:
        file.write(text + "\n")


def update(kind, **fields):
    send(method="session/update", params={"sessionId": session, "update": {"sessionUpdate": kind, **fields}})


def chunk(text, kind="agent_message_chunk", **fields):
    update(kind, content={"type": "text", "text": text}, **fields)


def receive():
    line = sys.stdin.readline()
    if not line:
        note("closed")
        sys.exit(0)
    return json.loads(line)


def fail(id, code, text, **fields):
    send(id=id, error={"code": code, "message": text, **fields})


def initialize(id, params):
    note("client " + json.dumps(params["clientCapabilities"], sort_keys=True))
    if way == "dies-first":
        sys.exit(3)
    able = {"loadSession": way != "forgets", "sessionCapabilities": {"resume": {}} if way == "resumes" else {}}
    send(id=id, result={"protocolVersion": 7 if way == "other-version" else 1, "agentCapabilities": able, "authMethods": []})


def new(id, params):
    note("new " + params["cwd"])
    servers(params)
    if way == "not-logged-in":
        return fail(id, -32000, "Authentication required")
    options = [{"id": "m", "name": "Model", "category": "model", "type": "select", "currentValue": "a", "options": []}]
    more = {"configOptions": options} if way == "models" else {}
    if way in ["modes", "keeps-its-mode"]:
        offered = ["default", "acceptEdits", "plan", "bypassPermissions"]
        more = {"modes": {"currentModeId": "default", "availableModes": [{"id": mode, "name": mode} for mode in offered]}}
    send(id=id, result={"sessionId": session, **more})


def servers(params):
    for server in params["mcpServers"]:
        note("server " + server["name"] + " " + server["command"] + " " + server["env"][0]["name"])


def load(id, params):
    note("load " + params["sessionId"])
    servers(params)
    if params["sessionId"] != session:
        return fail(id, -32603, "no such session")
    chunk("said before <swarm>COMPLETE</swarm>")
    send(id=id, result=None)


def resume(id, params):
    note("resume " + params["sessionId"])
    send(id=id, result={})


def option(id, params):
    note("option " + params["configId"] + " " + params["value"])
    fail(id, -32602, "no such model") if params["value"] == "none" else send(id=id, result={"configOptions": []})


def mode(id, params):
    note("mode " + params["modeId"])
    fail(id, -32602, "not as root") if way == "keeps-its-mode" else send(id=id, result={})


def permission():
    call = {"toolCallId": "c1", "kind": "execute", "title": "make", "status": "pending"}
    options = [
        {"optionId": "ever", "name": "Always", "kind": "allow_always"},
        {"optionId": "once", "name": "Once", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]
    send(id=900, method="session/request_permission", params={"sessionId": session, "toolCall": call, "options": options})
    note("allowed " + receive()["result"]["outcome"]["optionId"])
    send(id=901, method="fs/read_text_file", params={"sessionId": session, "path": "/etc/passwd"})
    note("file " + str(receive()["error"]["code"]))


def prompt(id, params):
    note("prompt " + params["prompt"][0]["text"])
    chunk("Now <swarm>COMP")
    if way == "waits":
        # Until it is ended. What it was told to end by is written down.
        def ended(number, frame):
            note("signal " + str(number))
            sys.exit(0)
        signal.signal(signal.SIGTERM, ended)
        note("waits")
        while True:
            signal.pause()
    if way == "dies":
        sys.exit(3)
    if way == "leaves-a-child":
        # It holds the output open for as long as somebody holds its input.
        if os.fork() == 0:
            sys.stdin.read()
            os._exit(0)
        os._exit(4)
    if way == "limit":
        return fail(id, 429, "slow down")
    if way == "overloaded":
        return fail(id, -32603, "Internal error", data={"details": "503 Service Unavailable"})
    if way == "refuses":
        return send(id=id, result={"stopReason": "refusal"})
    if way == "garbage":
        print("this is no JSON\n[1]\n{\"torn\":", flush=True)
        send(id=12345, result={})
        send(method="session/update", params={"update": {"sessionUpdate": "tomorrow"}})
        send(method="session/update", params=None)
    chunk("LETE</swarm>")
    chunk("hm", "agent_thought_chunk")
    permission()
    update("tool_call_update", toolCallId="c1", status="completed", rawOutput={"output": "made"})
    chunk("Done.")
    usage = {"totalTokens": 1050, "inputTokens": 600, "outputTokens": 50, "cachedReadTokens": 400}
    send(id=id, result={"stopReason": "end_turn", "usage": usage})
    if way == "lingers":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)


ways = {
    "initialize": initialize,
    "session/new": new,
    "session/load": load,
    "session/resume": resume,
    "session/set_config_option": option,
    "session/set_mode": mode,
    "session/prompt": prompt,
}
while True:
    message = receive()
    if message.get("method") in ways:
        ways[message["method"]](message["id"], message["params"])
