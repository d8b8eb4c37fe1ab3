package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
)

// until waits for the only line that a query of the database returns.
func (s *stage) until(query, want string) {
	s.t.Helper()
	var got []string
	for limit := time.Now().Add(time.Minute); strings.Join(got, "\n") != want; <-time.After(10 * time.Millisecond) {
		if got = s.query(query); time.Now().After(limit) {
			s.t.Fatalf("%s returns %q, want %q", query, got, want)
		}
	}
}

// TestPauseResumeAndBackfill: the commands reach a process that runs, without a cluster.
func TestPauseResumeAndBackfill(t *testing.T) {
	s := newStage(t)
	s.put(kube.Pods, "web-0", webPod)
	s.put(kube.ConfigMaps, "settings", `,"data":{"a":"1"}`)
	errs, stop := s.start("pods,cm", "--flush", "1ms")
	errs.wait(t, "phase=LIVE", 2)
	command := func(want string, args ...string) {
		t.Helper()
		args = append(args, "--kubeconfig", "/nowhere")
		if code, out, errs := s.run(args...); code != exitOK || out != want {
			t.Fatalf("%v: exit code %d, %q, want %q\n%s", args, code, out, want, errs)
		}
	}
	s.args = s.args[2:] // without the kubeconfig
	command("pods: paused\n", "pause", "pods")
	if _, out, _ := s.run("status"); !regexp.MustCompile(`(?m)^\S+ +configmaps +0/1 +LIVE .*\n\S+ +pods +0/1 +PAUSED `).MatchString(out) {
		t.Errorf("status:\n%s", out)
	}
	s.put(kube.Pods, "web-1", webPod)
	errs.wait(t, "sink: paused", 1)
	if diff := cmp.Diff([]string{"web-0"}, s.query(`SELECT name FROM pods`)); diff != "" {
		t.Errorf("table in the pause (-want +got):\n%s", diff)
	}
	command("pods: resumed\n", "resume", "pods")
	s.until(`SELECT count(*) FROM pods`, "2")

	s.plant(`UPDATE objects SET object = '{}' WHERE name = 'settings'`, `DELETE FROM objects WHERE name = 'web-0'`)
	command("configmaps: will be written again\npods: will be written again\n", "backfill")
	s.put(kube.Pods, "web-2", webPod)
	s.put(kube.ConfigMaps, "new", "")
	s.until(`SELECT concat_ws(' ', phase, count(*)) FROM positions WHERE epoch = 2 GROUP BY phase`, "LIVE 2")
	s.until(`SELECT group_concat(name) FROM (SELECT name FROM objects WHERE object ->> '$.metadata.name' = name ORDER BY 1)`, "new,settings,web-0,web-1,web-2")
	if code := stop(); code != exitOK {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	if code, _, errs := s.run("pause", "nodes"); code != exitFailed || !strings.Contains(errs, "holds no nodes") {
		t.Errorf("pause of what is not there: exit code %d\n%s", code, errs)
	}
}

// TestInterruptedCommandFails: only moving ends well when it is stopped.
func TestInterruptedCommandFails(t *testing.T) {
	s := newStage(t)
	s.put(kube.Pods, "web-0", webPod)
	errs, stop := s.start("pods")
	errs.wait(t, "phase=LIVE", 1)
	stop()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, command := range []string{"verify", "status", "backfill"} {
		errs := newConsole()
		if code := run(ctx, append([]string{command}, s.args...), func(string) string { return "" }, io.Discard, errs); code != exitFailed || errs.String() != "listwatch-sink: interrupted\n" {
			t.Errorf("%s: exit code %d, %q", command, code, errs)
		}
	}
}

// TestKilledInAPause kills processes and commands by SIGKILL while the sink is paused and
// resumed: what a command has said holds, and nothing is lost.
func TestKilledInAPause(t *testing.T) {
	s := newStage(t)
	args := []string{"configmaps", "--cluster-id", "c", "--flush", "5ms"}
	s.put(kube.ConfigMaps, "n", "")
	cmd, errs := s.child(args...)
	errs.wait(t, "phase=LIVE", 1)
	for round := range 6 {
		command := []string{"pause", "resume", "backfill"}[round%3]
		killed, _ := s.child(command)
		if round >= 3 {
			<-time.After(time.Duration(round) * 3 * time.Millisecond) // how far it comes is left to chance
			killed.Process.Kill()
		}
		killed.Wait()
		if code, out, errs := s.run(command); code != exitOK || !strings.HasPrefix(out, "configmaps: ") {
			t.Fatalf("%s: exit code %d, %s\n%s", command, code, out, errs)
		}
		before := s.query(`SELECT count(*) FROM history`)
		s.put(kube.ConfigMaps, fmt.Sprint("n-", round), "")
		cmd.Process.Kill()
		cmd.Wait()
		cmd, errs = s.child(args...)
		if command == "pause" {
			errs.wait(t, "sink: paused", 1)
			if diff := cmp.Diff(before, s.query(`SELECT count(*) FROM history`)); diff != "" {
				t.Errorf("records in the pause (-want +got):\n%s", diff)
			}
			continue
		}
		s.until(`SELECT count(*) FROM objects`, fmt.Sprint(round+2))
	}
	if code, out, _ := s.run("verify", "--cluster-id", "c"); code != exitOK {
		t.Errorf("verify: exit code %d\n%s", code, out)
	}
}

// TestReshard changes the number of shards, and is killed by SIGKILL meanwhile: the program
// starts with the former number or the new one, and with no other.
func TestReshard(t *testing.T) {
	s := newStage(t)
	for i := range 200 {
		s.put(kube.ConfigMaps, fmt.Sprint("n-", i), "")
	}
	errs, stop := s.start("configmaps")
	errs.wait(t, "phase=LIVE", 1)
	stop()
	if code, _, errs := s.run("reshard"); code != exitUsage || !strings.Contains(errs, "--shards N") {
		t.Errorf("reshard without --shards: exit code %d\n%s", code, errs)
	}
	for kill := range 8 {
		cmd, _ := s.child("reshard", "--shards", fmt.Sprint(2+kill%2))
		<-time.After(time.Duration(kill) * 20 * time.Millisecond) // how far it comes is left to chance
		cmd.Process.Kill()
		cmd.Wait()
	}
	if code, out, errs := s.run("reshard", "configmaps", "--shards", "1"); code != exitOK || out != "configmaps: has 1 shard\n" {
		t.Errorf("exit code %d, %q\n%s", code, out, errs)
	}
	if code, out, errs := s.run("reshard", "configmaps", "--shards", "3"); code != exitOK || out != "configmaps: has 3 shards\n" {
		t.Fatalf("exit code %d, %s\n%s", code, out, errs)
	}
	s.put(kube.ConfigMaps, "new", "")
	if code, _, errs := s.run("configmaps"); code != exitFailed || !strings.Contains(errs, "made with 3 shards") {
		t.Errorf("with one shard: exit code %d\n%s", code, errs)
	}
	errs, _ = s.start("configmaps", "--shards", "3")
	errs.wait(t, "phase=LIVE", 3)
	s.until(`SELECT count(*) FROM objects`, "201")
	if code, out, errs := s.run("verify", "--wait", "0"); code != exitOK {
		t.Errorf("verify: exit code %d\n%s%s", code, out, errs)
	}
	if diff := cmp.Diff([]string{"201"}, s.query(`SELECT count(*) FROM history WHERE type <> 'GAP'`)); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}
