// Command scenarios plays every scenario of apitest/scenario with three clients
// and prints their verdicts side by side: this engine's informer, client-go's
// informer with streaming lists, and the same with paged ones.
//
//	go run ./cmd/scenarios           all of them, some 4 minutes
//	go run ./cmd/scenarios '^gone/'  those that match
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/listwatch/listwatch/apitest/scenario"
	engine "github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// follower keeps up with the ConfigMaps of a run until ctx is done.
type follower struct {
	name   string
	follow func(ctx context.Context, run *scenario.Run) error
}

var followers = []follower{
	{"listwatch", ours},
	{"client-go streaming", func(ctx context.Context, run *scenario.Run) error { return clientGo(ctx, run, true) }},
	{"client-go paged", func(ctx context.Context, run *scenario.Run) error { return clientGo(ctx, run, false) }},
}

func main() {
	klog.SetLogger(logr.Discard())
	only := regexp.MustCompile("")
	if len(os.Args) > 1 {
		var err error
		if only, err = regexp.Compile(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, "scenarios:", err)
			os.Exit(2)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := play(ctx, only); err != nil {
		fmt.Fprintln(os.Stderr, "scenarios:", err)
		os.Exit(1)
	}
}

// atOnce is how many runs are under way at a time: they mostly wait.
const atOnce = 24

// play prints a table.
func play(ctx context.Context, only *regexp.Regexp) error {
	var all []scenario.Scenario
	for _, s := range scenario.All() {
		if only.MatchString(s.Name) {
			all = append(all, s)
		}
	}
	verdicts := make([][]scenario.Verdict, len(all))
	slots := make(chan struct{}, atOnce)
	var running sync.WaitGroup
	for i, s := range all {
		verdicts[i] = make([]scenario.Verdict, len(followers))
		for j, f := range followers {
			running.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				verdicts[i][j] = judge(ctx, s, f)
			})
		}
	}
	running.Wait()

	fmt.Print("| scenario |")
	for _, f := range followers {
		fmt.Printf(" %s |", f.name)
	}
	fmt.Print("\n|---|---|---|---|\n")
	passed := make([]int, len(followers))
	for i, s := range all {
		fmt.Printf("| %s |", s.Name)
		for j, v := range verdicts[i] {
			if v.Outcome == scenario.Pass {
				passed[j]++
			}
			if v.Reason != "" {
				fmt.Printf(" **%s**: %s |", v.Outcome, v.Reason)
			} else {
				fmt.Printf(" %s |", v.Outcome)
			}
		}
		fmt.Println()
	}
	fmt.Print("| passed |")
	for _, n := range passed {
		fmt.Printf(" %d of %d |", n, len(all))
	}
	fmt.Println()
	return ctx.Err()
}

// judge plays one scenario with one client.
func judge(ctx context.Context, s scenario.Scenario, f follower) scenario.Verdict {
	ctx, cancel := context.WithTimeout(ctx, s.Limit+time.Minute)
	defer cancel()
	run, err := scenario.Serve(ctx, s.Name, scenario.Options{})
	if err != nil {
		return scenario.Verdict{Scenario: s.Name, Outcome: scenario.NotExercised, Reason: err.Error()}
	}
	defer run.Close()
	following, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- f.follow(following, run) }()
	v := run.Wait(ctx)
	stop()
	<-ended
	return v
}

func ours(ctx context.Context, run *scenario.Run) error {
	c, err := client.New(client.Config{Server: run.URL, TLS: client.TLS{CAData: run.Server.CAPEM()}})
	if err != nil {
		return err
	}
	return engine.New(client.Of[kube.Partial](c, kube.ConfigMaps), engine.Options[kube.Partial]{}).Run(ctx)
}

func clientGo(ctx context.Context, run *scenario.Run, streaming bool) error {
	set, err := kubernetes.NewForConfig(&rest.Config{Host: run.URL, TLSClientConfig: rest.TLSClientConfig{CAData: run.Server.CAPEM()}})
	if err != nil {
		return err
	}
	maps := set.CoreV1().ConfigMaps("")
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return maps.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return maps.Watch(ctx, o)
		},
	}
	var source cache.ListerWatcher = lw
	if streaming {
		source = cache.ToListWatcherWithWatchListSemantics(lw, set)
	} else {
		source = cache.ToListWatcherWithWatchListSemantics(lw, unsupported{})
	}
	informer := cache.NewSharedInformer(source, &corev1.ConfigMap{}, 0)
	informer.RunWithContext(ctx)
	return nil
}

// unsupported tells client-go to list in pages.
type unsupported struct{}

func (unsupported) IsWatchListSemanticsUnSupported() bool { return true }
