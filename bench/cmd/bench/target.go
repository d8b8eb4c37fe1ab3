package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/listwatch/listwatch/bench/probe"
)

// target is one line of the table of targets: what we measured, beside what it
// is held against.
type target struct {
	what   string
	ours   string
	peer   string // whom it is compared with
	theirs string
	ratio  float64
	limit  float64 // of the ratio; noTarget = none was set
}

// noTarget is the limit of what is shown only.
const noTarget = -1

// metric is a number of a run; fewer is better.
type metric struct {
	of   func(probe.Result) float64
	text func(float64) string
}

func seconds(v float64) string     { return fmt.Sprintf("%.2f s", v) }
func megabytes(v float64) string   { return fmt.Sprintf("%.1f MB", v/1e6) }
func kilobytes(v float64) string   { return fmt.Sprintf("%.2f KB", v/1e3) }
func number(v float64) string      { return fmt.Sprintf("%.2f", v) }
func nanoseconds(v float64) string { return fmt.Sprintf("%.0f ns", v) }
func millions(v float64) string    { return fmt.Sprintf("%.2f million/s", v/1e6) }
func minutes(v float64) string     { return fmt.Sprintf("%.1f min", v/60) }
func gigabytes(v float64) string   { return fmt.Sprintf("%.2f GB", v/1e9) }
func count(v float64) string       { return fmt.Sprintf("%.0f", v) }

// microseconds has two digits where one stands before the point.
func microseconds(v float64) string {
	if v < 10 {
		return fmt.Sprintf("%.2g µs", v)
	}
	return fmt.Sprintf("%.0f µs", v)
}

var (
	eventsCPU = metric{func(r probe.Result) float64 { return r.Run.CPU() }, seconds}
	syncCPU   = metric{func(r probe.Result) float64 { return r.Sync.CPU() }, seconds}
	lists     = metric{func(r probe.Result) float64 { return float64(r.Lists) }, count}
	syncWall  = metric{func(r probe.Result) float64 { return r.Sync.Wall }, seconds}
	heap      = metric{func(r probe.Result) float64 { return float64(r.Heap) }, megabytes}
	peakSync  = metric{func(r probe.Result) float64 { return float64(r.PeakSync) }, megabytes}
	peakAll   = metric{func(r probe.Result) float64 { return float64(r.Peak) }, megabytes}
	allowed   = metric{func(r probe.Result) float64 { return 1.5*float64(r.HeapSync+r.HeapBase) + 30e6 }, megabytes}
	bothPeaks = metric{func(r probe.Result) float64 { return float64(r.Peak + r.PeakServer) }, gigabytes}
	wholeWall = metric{func(r probe.Result) float64 { return r.Sync.Wall + r.Run.Wall }, minutes}
	perEvent  = metric{func(r probe.Result) float64 { return r.Run.CPU() / float64(max(1, r.Events)) * 1e6 }, microseconds}
	perSystem = metric{func(r probe.Result) float64 { return r.Run.System / float64(max(1, r.Events)) * 1e6 }, microseconds}
	perFault  = metric{func(r probe.Result) float64 { return float64(r.Run.Faults) / float64(max(1, r.Events)) }, number}
	syncSys   = metric{func(r probe.Result) float64 { return r.Sync.System }, seconds}
	perUser   = metric{func(r probe.Result) float64 { return r.Run.User / float64(max(1, r.Events)) * 1e6 }, microseconds}
	perObject = metric{func(r probe.Result) float64 { return float64(r.Heap) / float64(max(1, r.Objects)) }, kilobytes}
	allocs    = metric{func(r probe.Result) float64 {
		return math.Round(100*float64(r.Run.Mallocs)/float64(max(1, r.Events))) / 100
	}, number} // the whole process: a few are not of an event
	p50 = metric{func(r probe.Result) float64 { return latencyOf(r).P50 }, microseconds}
	p99 = metric{func(r probe.Result) float64 { return latencyOf(r).P99 }, microseconds}
)

// median returns the median of a metric over the runs of a client in a case.
func (r report) median(name, client string, m metric) (float64, bool) {
	for _, c := range r.Cases {
		if runs := c.Runs[client]; c.Case.Name == name && len(runs) > 0 {
			return medianOf(runs, m), true
		}
	}
	return 0, false
}

func medianOf(runs []probe.Result, m metric) float64 {
	return medianBy(runs, m.of)
}

func medianBy[T any](runs []T, of func(T) float64) float64 {
	var vs []float64
	for _, run := range runs {
		vs = append(vs, of(run))
	}
	slices.Sort(vs)
	mid := len(vs) / 2
	if len(vs)%2 == 0 {
		return (vs[mid-1] + vs[mid]) / 2
	}
	return vs[mid]
}

// targets returns the lines for which there are runs.
func (r report) targets() []target {
	var out []target
	// compare holds a client in a case against another, perhaps in another case
	// or by another metric.
	compare := func(what, c1, client string, m1 metric, c2, peer string, m2 metric, limit float64) {
		a, ok1 := r.median(c1, client, m1)
		b, ok2 := r.median(c2, peer, m2)
		if ok1 && ok2 && b > 0 {
			out = append(out, target{what, m1.text(a), peer, m2.text(b), a / b, limit})
		}
	}
	same := func(what, c, client, peer string, m metric, limit float64) {
		compare(what, c, client, m, c, peer, m, limit)
	}

	// limit holds a client against a number.
	limit := func(what, c, client string, m metric, most float64) {
		switch a, ok := r.median(c, client, m); {
		case !ok:
		case most == 0:
			out = append(out, target{what, m.text(a), "none", "", a, 0})
		default:
			out = append(out, target{what, m.text(a), "at most", m.text(most), a / most, 1})
		}
	}

	const pods, typed, proto = "pods", "clientgo-typed-json", "clientgo-typed-protobuf"
	same("CPU of the events, Raw", pods, "ours-raw", typed, perEvent, 1./15)
	same("CPU of the events, Raw", pods, "ours-raw", proto, perEvent, 1./2)
	same("CPU of the events, Raw", pods, "ours-raw", "floor", perEvent, 3)
	same("CPU of the events, Partial", pods, "ours-partial", typed, perEvent, 1./15)
	same("CPU of the events, Partial", pods, "ours-partial", proto, perEvent, 1./2)
	same("CPU of the events, Partial", pods, "ours-partial", "floor-partial", perEvent, 3)
	same("CPU of the events, struct of 8 fields", pods, "ours-struct8", typed, perEvent, 1./10)
	same("CPU of the events, corev1.Pod", pods, "ours-typed", typed, perEvent, 1./3)
	same("sync wall time, Raw, streamed", pods, "ours-raw", "floor", syncWall, 1.5)
	same("sync wall time, Raw, paged", "pods, paged list", "ours-raw", "floor", syncWall, 1.5)
	same("CPU of the events, compressed", pods, "ours-compressed", typed, perEvent, 1./10)
	same("CPU of the events, compressed", pods, "ours-compressed", proto, perEvent, 2./3)
	same("heap, compressed", pods, "ours-compressed", typed, heap, 1./12)
	same("heap, Raw", pods, "ours-raw", typed, heap, 1./3)
	same("heap, struct of 8 fields", pods, "ours-struct8", typed, heap, 1./10)
	for _, c := range []string{"ours-raw", "ours-partial", "ours-struct8", "ours-typed"} {
		what := "peak RSS in sync, " + c + ", against 1.5 heaps + 30 MB"
		compare(what, pods, c, peakSync, pods, c, allowed, 1)
	}
	for _, peer := range []string{typed, proto} {
		same("latency p50 at 1,000 events a second, Raw", "pods, 1,000 events a second", "ours-raw", peer, p50, 0.8)
		same("latency p99 at 1,000 events a second, Raw", "pods, 1,000 events a second", "ours-raw", peer, p99, 0.8)
	}
	same("latency p50 at 1,000 events a second, Raw", "pods, 1,000 events a second", "ours-raw", "floor", p50, noTarget)
	same("latency p99 at 1,000 events a second, Raw", "pods, 1,000 events a second", "ours-raw", "floor", p99, noTarget)
	for _, peer := range []string{"controller-runtime-reconciler-json", "controller-runtime-reconciler-protobuf"} {
		same("latency p50 until the function runs, Raw", reconciled, "ours-controller-raw", peer, p50, 0.5)
		same("latency p99 until the function runs, Raw", reconciled, "ours-controller-raw", peer, p99, 0.5)
	}
	same("latency p50 until the function runs, Raw", reconciled, "ours-controller-raw", "floor", p50, noTarget)
	same("latency p99 until the function runs, Raw", reconciled, "ours-controller-raw", "floor", p99, noTarget)
	compare("CPU of the events, 100 handlers against 1", "pods, 100 handlers", "ours-raw", perEvent, "pods, 1 handler", "ours-raw", perEvent, 2)
	for _, c := range []string{"restart, streamed", "restart, paged list"} {
		for _, client := range []string{"ours-raw", "ours-struct8"} {
			same(c+", time to be synced, "+client+" warm against cold", c, client+"-warm", client, syncWall, 1./5)
			same(c+", time to be synced, "+client+" warm", c, client+"-warm", proto, syncWall, 1./5)
			same(c+", time to be synced, "+client+" warm", c, client+"-warm", typed, syncWall, 1./5)
			limit(c+", LIST requests, "+client+" warm", c, client+"-warm", lists, 0)
		}
	}
	limit("heap, compressed, "+million, million, "ours-compressed", heap, 1.2e9)
	limit("peak RSS of server and client, compressed, "+million, million, "ours-compressed", bothPeaks, 8e9)
	limit("time of it all, compressed, "+million, million, "ours-compressed", wholeWall, 180)
	protobufTargets(pods, proto, same, limit)
	out = append(out, r.contestTargets()...)
	out = append(out, r.queueTargets()...)
	out = append(out, r.sizeTargets()...)
	out = append(out, r.viewTargets()...)
	for _, big := range []string{"100,000 pods", "300,000 pods"} {
		compare("heap an object, Raw, "+big+" against 10,000", big, "ours-raw", perObject, "10,000 pods", "ours-raw", perObject, 1.1)
		compare("CPU an event, Raw, "+big+" against 10,000", big, "ours-raw", perEvent, "10,000 pods", "ours-raw", perEvent, 1.2)
		compare("CPU an event without the system's, Raw, "+big+" against 10,000", big, "ours-raw", perUser, "10,000 pods", "ours-raw", perUser, noTarget)
	}
	return out
}

// protobufTargets adds those of types that are decoded from protobuf, and of allocations.
func protobufTargets(pods, proto string, same func(what, c, client, peer string, m metric, limit float64), limit func(what, c, client string, m metric, most float64)) {
	same("CPU of the events, struct of 8 fields", pods, "ours-struct8", proto, perEvent, 1./9)
	same("CPU of the events, Partial", pods, "ours-partial", "clientgo-metadata", perEvent, 1./9)
	same("CPU of the events, corev1.Pod", pods, "ours-typed", proto, perEvent, 0.8)
	same("allocations an event, corev1.Pod", pods, "ours-typed", proto, allocs, 0.5)
	for _, c := range []string{overTLS, "pods, HTTP/1.1 over TLS"} {
		same("CPU of the events, struct of 8 fields, "+c, c, "ours-struct8", proto, perEvent, noTarget)
		same("CPU of the sync, struct of 8 fields, "+c, c, "ours-struct8", proto, syncCPU, 1./4)
		same("sync wall time, struct of 8 fields, "+c, c, "ours-struct8", proto, syncWall, 1)
	}
	limit("allocations an event, Raw", pods, "ours-raw", allocs, 3)
	limit("allocations an event, struct of 8 fields", pods, "ours-struct8", allocs, 5)
}

func (r report) sizeTargets() (out []target) {
	if len(r.Sizes) != 2 {
		return nil
	}
	ours, theirs := r.Sizes[0], r.Sizes[1]
	add := func(what string, a, b float64, text func(float64) string) {
		if b > 0 {
			out = append(out, target{"minimal informer program: " + what, text(a), "clientgo", text(b), a / b, 1. / 4})
		}
	}
	add("stripped size", float64(ours.Bytes), float64(theirs.Bytes), megabytes)
	add("packages", float64(ours.Packages), float64(theirs.Packages), count)
	add("modules", float64(ours.Modules), float64(theirs.Modules), count)
	add("cold build, wall", ours.Cold, theirs.Cold, seconds)
	add("cold build, CPU", ours.ColdCPU, theirs.ColdCPU, seconds)
	return out
}

func latencyOf(r probe.Result) probe.Latency {
	if r.Latency == nil {
		return probe.Latency{}
	}
	return *r.Latency
}
