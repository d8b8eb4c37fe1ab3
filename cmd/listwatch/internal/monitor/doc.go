// Package monitor knows how the streams of a run are, and serves that to people, probes and
// Prometheus.
package monitor
