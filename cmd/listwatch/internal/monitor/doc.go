// Package monitor keeps the state of the streams of a run, and serves it to people, probes
// and Prometheus.
package monitor
