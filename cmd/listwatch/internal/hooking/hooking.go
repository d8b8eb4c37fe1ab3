// Package hooking is the flags of hooks: commands that are run for events, and webhooks.
package hooking

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/time/rate"

	"github.com/listwatch/listwatch/cmd/listwatch/hook"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/watch"
)

// Flags are the flags of the commands that are run for events.
type Flags struct {
	exec        string
	webhook     string
	plain       bool // --webhook may be http
	delete      []string
	input       string
	on          []string
	Initial     bool // for the objects of a first list, too
	concurrency int
	coalesce    string
	batch       string
	timeout     time.Duration
	retries     int
	backoff     string
	rate        string
	maxErrors   int
	dryRun      bool
	grace       time.Duration
}

// Help is the part of a help text that is about hooks.
const Help = `

Hooks: the command after --, or of --exec, runs for each event that the filters select.
For the objects of the first list it runs only with --exec-initial. If a type or a
cluster is found after the start, objects that were created after the start of the run
count as new.
The command gets the line of -o ndjson (without --diff) on standard input, and the
variables LISTWATCH_EVENT, _CLUSTER, _NAMESPACE, _NAME, _KIND, _API_VERSION, _RESOURCE,
_UID, _RV, _INITIAL, _SYNTHETIC and _SEQ. Its output is printed on stderr, each line after
the name of the object. Rows are printed on stdout as usual; -o none prints none.

Several hooks run at once, but only one for each object. A newer event replaces a
waiting one of the same object; a waiting deletion is not replaced by events of a new
object with the same name. A run whose exit code is not 0 is repeated. To kill a run
kills its process group; processes that a run leaves in the background continue.
If events that cannot replace one another arrive faster than hooks run, the program
stops reading at 1024 events or 32 MiB until there is room. The server may then close
the watch; the program resumes it or lists again.

A requested end waits until all hooks have run. After a signal, --timeout or a failure
waiting events are dropped, and running hooks may continue for --exec-grace; a second
SIGINT or SIGTERM kills them at once. After kill -9 of listwatch running hooks
continue: the line on their standard input may be incomplete, and their output is lost
and may end them (SIGPIPE). With --checkpoint-policy after-hook the next run repeats
their events, perhaps at the same time; with after-print it does not repeat events that
are in the checkpoint.

--webhook posts each event as a CloudEvent instead, with the object as data, and a batch
as one request. A response other than 2xx, redirects included, is a failure and is
retried. The id of a state, and of a deletion, is the same in each post.`

// Register adds the flags.
func (h *Flags) Register(f *pflag.FlagSet) {
	f.StringVar(&h.exec, "exec", "", "run this by sh -c for each event, instead of a command after --")
	f.StringVar(&h.webhook, "webhook", "", "post a CloudEvent to this https URL for each event, instead of running a command")
	f.BoolVar(&h.plain, "webhook-allow-http", false, "permit an http URL of another host in --webhook: anyone on the network path can read the objects")
	f.StringArrayVar(&h.delete, "exec-delete", nil, "run this command for DELETED instead; repeat it for each argument")
	f.StringVar(&h.input, "exec-input", "stdin", "pass the record to a hook by: stdin, file (named in LISTWATCH_FILE), args (as the last one) or none")
	f.StringSliceVar(&h.on, "exec-on", nil, "run hooks only for these types of events; default those of ADDED,MODIFIED,DELETED that --events prints")
	f.BoolVar(&h.Initial, "exec-initial", false, "run hooks also for the objects of the first list of each type")
	f.IntVar(&h.concurrency, "exec-concurrency", 4, "run at most this many hooks at once, each for another object")
	f.StringVar(&h.coalesce, "exec-coalesce", "latest", "keep waiting events of an object: latest (only the newest) or none (all of them, in order; none is merged)")
	f.StringVar(&h.batch, "exec-batch", "", "run a hook for several records, N/D: up to N, or those that arrive within D, one per line; LISTWATCH_EVENT is BATCH, LISTWATCH_COUNT their number")
	f.DurationVar(&h.timeout, "exec-timeout", 0, "kill a hook that takes longer (0 = never; for --webhook 30s)")
	f.IntVar(&h.retries, "exec-retries", 5, "run a failed hook again at most this many times")
	f.StringVar(&h.backoff, "exec-backoff", "1s..5m", "wait FIRST..MAX before retries: the delay starts at FIRST, doubles up to MAX, and is at random up to a half shorter")
	f.StringVar(&h.rate, "exec-rate", "", "limit the runs, R/B: at most R per second, with bursts of B")
	f.IntVar(&h.maxErrors, "exec-max-errors", -1, "end with exit code 5 when more hooks than this have failed after all retries (-1 = never)")
	f.BoolVar(&h.dryRun, "exec-dry-run", false, "print on stderr what would run, and run nothing")
	f.DurationVar(&h.grace, "exec-grace", 5*time.Second, "let running hooks continue for this long after SIGINT, SIGTERM or SIGHUP")
}

// hookFlags make no sense without a hook.
var hookFlags = []string{"exec-input", "exec-on", "exec-initial", "exec-concurrency", "exec-coalesce", "exec-batch", "exec-timeout",
	"exec-retries", "exec-backoff", "exec-rate", "exec-max-errors", "exec-dry-run", "exec-grace"}

// Given reports whether there is a hook.
func (h *Flags) Given(cmd *cobra.Command) bool {
	return cmd.ArgsLenAtDash() >= 0 || cmd.Flags().Changed("exec") || cmd.Flags().Changed("exec-delete") || cmd.Flags().Changed("webhook")
}

// Split cuts what follows -- off the arguments; command is nil without a --.
func (h *Flags) Split(cmd *cobra.Command, args []string) (rest, command []string) {
	n := cmd.ArgsLenAtDash()
	if n < 0 {
		return args, nil
	}
	return args[:n], append([]string{}, args[n:]...)
}

// Hooks are what the flags ask for.
type Hooks struct {
	Opts  hook.Options
	Types []string // that are run for
	First bool     // objects of a first list are run for
	Dry   bool     // nothing is run
}

// Chosen reports whether the types are those of --exec-on.
func (h *Flags) Chosen() bool { return h.on != nil }

// Compile checks the flags; nil without a hook. Events are those of --events.
func (h *Flags) Compile(cmd *cobra.Command, command, events []string) (*Hooks, error) {
	given := cmd.Flags().Changed
	switch {
	case given("webhook-allow-http") && !given("webhook"):
		return nil, exit.Usage("--webhook-allow-http is for --webhook: give both")
	case given("webhook") && (command != nil || given("exec") || given("exec-delete") || given("exec-input")):
		return nil, exit.Usage("--webhook posts events, a command after --, --exec, --exec-delete and --exec-input are for running it: give one")
	case given("webhook"):
		return h.compileWebhook(events)
	case command != nil && given("exec"):
		return nil, exit.Usage("the command after -- and --exec: give one")
	case command != nil && (len(command) == 0 || command[0] == ""):
		return nil, exit.Usage("the command after -- is missing")
	case given("exec") && strings.TrimSpace(h.exec) == "":
		return nil, exit.Usage("--exec is empty: want what sh shall run")
	case given("exec-delete") && (len(h.delete) == 0 || h.delete[0] == ""):
		return nil, exit.Usage("--exec-delete is empty: want a command")
	case given("exec"):
		command = []string{"sh", "-c", h.exec}
	case command == nil && h.delete == nil:
		for _, name := range hookFlags {
			if given(name) {
				return nil, exit.Usage("--%s is for hooks: give a command after --, or --exec, or --webhook", name)
			}
		}
		return nil, nil
	}
	c := &Hooks{Dry: h.dryRun, First: h.Initial}
	var err error
	if c.Types, err = h.types(command, events); err != nil {
		return nil, err
	}
	if c.Opts, err = h.options(); err != nil {
		return nil, err
	}
	for _, part := range []struct {
		argv []string
		into *[]string
		what string
	}{{command, &c.Opts.Command, "the hook "}, {h.delete, &c.Opts.Delete, "--exec-delete "}} {
		if part.argv == nil {
			continue
		}
		if err := hook.Check(part.argv); err != nil {
			return nil, exit.Usage("%s%q: %w", part.what, printable.Clip(part.argv[0]), err)
		}
		*part.into = part.argv
	}
	return c, nil
}

// compileWebhook checks the flags of --webhook.
func (h *Flags) compileWebhook(events []string) (*Hooks, error) {
	w, err := hook.NewWebhook(h.webhook, h.plain)
	if err != nil {
		return nil, exit.Usage("--webhook: %w", err)
	}
	c := &Hooks{Dry: h.dryRun, First: h.Initial}
	if c.Types, err = h.types([]string{}, events); err != nil {
		return nil, err
	}
	c.Opts, err = h.options()
	c.Opts.Webhook = w
	return c, err
}

// types are the events to run for.
func (h *Flags) types(command, events []string) ([]string, error) {
	on, err := record.ParseTypes(h.on)
	if err != nil {
		return nil, exit.Usage("--exec-on: %s", strings.TrimPrefix(err.Error(), "--events: "))
	}
	deleted := string(watch.Deleted)
	switch {
	case on != nil && command == nil && !slices.Equal(on, []string{deleted}):
		return nil, exit.Usage("--exec-delete is run for DELETED only: give a command for the others of --exec-on, after -- or by --exec")
	case on != nil && h.delete != nil && !slices.Contains(on, deleted):
		return nil, exit.Usage("--exec-delete is never run, as --exec-on leaves DELETED out: give one")
	case on != nil:
		return on, nil
	}
	for _, t := range []string{string(watch.Added), string(watch.Modified), deleted} {
		if (events == nil || slices.Contains(events, t)) && (command != nil || t == deleted) {
			on = append(on, t)
		}
	}
	if on == nil {
		return nil, exit.Usage("the hook is never run, as --events leaves out what it is run for: give --exec-on")
	}
	return on, nil
}

// options are those of the pool, without commands.
func (h *Flags) options() (hook.Options, error) {
	o := hook.Options{Input: hook.Input(h.input), Concurrency: h.concurrency, Every: h.coalesce == "none",
		Timeout: h.timeout, Retries: h.retries, Errors: h.maxErrors + 1, Grace: h.grace}
	inputs := []hook.Input{hook.Stdin, hook.File, hook.Args, hook.None}
	switch {
	case !slices.Contains(inputs, o.Input):
		return o, exit.Usage("--exec-input %q: want one of stdin, file, args, none", printable.Clip(h.input))
	case h.coalesce != "latest" && h.coalesce != "none":
		return o, exit.Usage("--exec-coalesce %q: want latest or none", printable.Clip(h.coalesce))
	case h.concurrency < 1:
		return o, exit.Usage("--exec-concurrency %d: want at least 1", h.concurrency)
	case h.retries < 0:
		return o, exit.Usage("--exec-retries %d is negative", h.retries)
	case h.maxErrors < -1:
		return o, exit.Usage("--exec-max-errors %d: want -1, which is never, or more", h.maxErrors)
	case h.timeout < 0:
		return o, exit.Usage("--exec-timeout %v is negative", h.timeout)
	case h.grace < 0:
		return o, exit.Usage("--exec-grace %v is negative", h.grace)
	}
	var err error
	if o.Backoff, o.BackoffMax, err = parseBackoff(h.backoff); err != nil {
		return o, exit.Usage("--exec-backoff %q: %w", printable.Clip(h.backoff), err)
	}
	if h.rate != "" {
		if o.Rate, o.Burst, err = parseRate(h.rate); err != nil {
			return o, exit.Usage("--exec-rate %q: %w", printable.Clip(h.rate), err)
		}
	}
	if h.batch == "" {
		return o, nil
	}
	if o.Batch, o.Window, err = parseBatch(h.batch); err != nil {
		return o, exit.Usage("--exec-batch %q: %w", printable.Clip(h.batch), err)
	}
	switch {
	case h.delete != nil:
		return o, exit.Usage("--exec-batch mixes events, --exec-delete parts them: give one")
	case o.Input == hook.Args:
		return o, exit.Usage("--exec-batch gives many records, --exec-input args is for one: give stdin or file")
	}
	o.Backlog = max(1024, 2*o.Batch)
	return o, nil
}

func parseBackoff(s string) (least, most time.Duration, err error) {
	a, b, ok := strings.Cut(s, "..")
	least, err = time.ParseDuration(a)
	if most = least; ok && err == nil {
		most, err = time.ParseDuration(b)
	}
	if err != nil || least <= 0 || most < least {
		return 0, 0, errors.New("want two durations, such as 1s..5m")
	}
	return least, most, nil
}

func parseRate(s string) (rate.Limit, int, error) {
	r, b, ok := strings.Cut(s, "/")
	burst := 1
	limit, err := strconv.ParseFloat(r, 64)
	if ok && err == nil {
		burst, err = strconv.Atoi(b)
	}
	if err != nil || !(limit > 0) || math.IsInf(limit, 0) || burst < 1 {
		return 0, 0, errors.New("want runs a second and how many at once, such as 2/10 or 0.5/1")
	}
	return rate.Limit(limit), burst, nil
}

func parseBatch(s string) (int, time.Duration, error) {
	a, b, _ := strings.Cut(s, "/")
	n, err := strconv.Atoi(a)
	if err == nil {
		var d time.Duration
		if d, err = time.ParseDuration(b); err == nil && n > 0 && n <= 1_000_000 && d > 0 {
			return n, d, nil
		}
	}
	return 0, 0, errors.New("want a number and a duration, such as 100/2s")
}
