# The repository that the pages work in: a tiny program in shell, with a test that `make test` runs.
git init -q -b main .
cat >hello.sh <<'END'
#!/bin/sh
echo "Hello, ${1:-world}!"
END
cat >test.sh <<'END'
#!/bin/sh
test "$(sh hello.sh)" = "Hello, world!" || { echo "not ok: hello.sh greets the world"; exit 1; }
echo "ok"
END
printf 'test:\n\t@sh test.sh\n' >Makefile
echo "# hello" >README.md
git add . && git commit -qm "Say hello"
