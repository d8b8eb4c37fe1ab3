package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/listwatch/listwatch/internal/exit"
)

// cmdSays runs the program, and writes to the file messages what a person sees of
// a failure:
//
//	$ listwatch ARGS...
//	what was said on stderr
//	exit CODE
func cmdSays(ts *testscript.TestScript, neg bool, args []string) {
	w := worldOf(ts)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], `\n`, "\n")
	}
	p := w.start(ts, args)
	<-p.done // the script's context ends it
	w.finish(ts, p, strconv.Itoa(p.code))
	said := p.stderr.String()
	peer := func(s string) string { return s }
	if addr := ts.Getenv("PEER"); addr != "" {
		peer = func(s string) string { return strings.ReplaceAll(s, addr, "PEER") }
	}
	said = peer(said)
	if p.code != exit.CodeUsage {
		said = untilTime.ReplaceAllString(ports.ReplaceAllString(w.scrub(said), "HOST"), "until TIME") // usage errors repeat what was typed, durations too
	}
	line := "$ listwatch"
	for _, a := range args {
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\|&;<>()[]{}*?#~$") {
			a = "'" + strings.ReplaceAll(strings.ReplaceAll(a, "\n", `\n`), "'", `'\''`) + "'"
		}
		line += " " + a
	}
	said = fmt.Sprintf("%s\n%sexit %d\n\n", peer(line), said, p.code)
	said = strings.ReplaceAll(said, ts.Getenv("WORK"), "WORK")
	if w.srv != nil {
		said = strings.ReplaceAll(said, w.srv.URL, "SERVER")
	}
	f, err := os.OpenFile(ts.MkAbs("messages"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	ts.Check(err)
	_, err = f.WriteString(said)
	ts.Check(err)
	ts.Check(f.Close())
}

// ports are those that the system chose.
var ports = regexp.MustCompile(`127\.0\.0\.1:\d{4,}`)

// untilTime is the end of a certificate that was made for the test.
var untilTime = regexp.MustCompile(`until 20\d\d-\d\d-\d\d \d\d:\d\d UTC`)
