package pods

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/columns"
)

// Printer prints Pods.
var Printer = columns.Printer{
	Columns: columns.List(
		columns.Text("Ready", "containers that are ready, of all"),
		columns.Text("Status", "what the containers are doing, in a word"),
		columns.Text("Restarts", "how often containers have been restarted, and when the last one was"),
		columns.AgeColumn(),
		columns.Wide("IP", "address of the pod"),
		columns.Wide("Node", "node on which the pod runs"),
		columns.Wide("Nominated Node", "node that is being cleared for the pod"),
		columns.Wide("Readiness Gates", "conditions of readiness that hold, of all"),
	),
	Cells: podCells,
}

// podSpec and podStatus have the members that a row shows.
type podSpec struct {
	nodeName       string
	containers     int
	initContainers []container
	gates          []struct {
		ConditionType string `json:"conditionType"`
	}
}

func (s *podSpec) read(r *columns.Row) {
	raw, _ := r.Field("spec")
	for name, value := range columns.Parts(raw) {
		switch string(name) {
		case "nodeName":
			columns.DecodeLenient(value, &s.nodeName)
		case "containers":
			for range columns.Parts(value) {
				s.containers++
			}
		case "initContainers":
			columns.DecodeLenient(value, &s.initContainers)
		case "readinessGates":
			columns.DecodeLenient(value, &s.gates)
		}
	}
}

type container struct {
	Name          string `json:"name"`
	Image         string `json:"image"`
	RestartPolicy string `json:"restartPolicy"`
}

type podStatus struct {
	Phase             string                `json:"phase"`
	Reason            string                `json:"reason"`
	Conditions        columns.Conditions    `json:"conditions"`
	PodIP             string                `json:"podIP"`
	PodIPs            []struct{ IP string } `json:"podIPs"`
	NominatedNodeName string                `json:"nominatedNodeName"`
	Init              []containerStatus     `json:"initContainerStatuses"`
	Containers        []containerStatus     `json:"containerStatuses"`
}

type containerStatus struct {
	Name         string         `json:"name"`
	Ready        bool           `json:"ready"`
	Started      bool           `json:"started"`
	RestartCount int            `json:"restartCount"`
	State        containerState `json:"state"`
	LastState    containerState `json:"lastState"`
}

type containerState struct {
	Waiting *struct {
		Reason string `json:"reason"`
	} `json:"waiting"`
	Running    *struct{} `json:"running"`
	Terminated *struct {
		ExitCode   int    `json:"exitCode"`
		Signal     int    `json:"signal"`
		Reason     string `json:"reason"`
		FinishedAt string `json:"finishedAt"`
	} `json:"terminated"`
}

// end returns a word for how a container ended.
func (s *containerState) end() string {
	switch t := s.Terminated; {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	default:
		return fmt.Sprintf("ExitCode:%d", t.ExitCode)
	}
}

func podCells(r *columns.Row) {
	var spec podSpec
	var status podStatus
	spec.read(r)
	r.Read("status", &status)
	s := summarize(&spec, &status)
	switch status.Phase {
	case "Succeeded":
		r.Completed = `,"conditions":[{"type":"Completed","status":"True","reason":"Succeeded","message":"The pod has completed successfully."}]`
	case "Failed":
		r.Completed = `,"conditions":[{"type":"Completed","status":"True","reason":"Failed","message":"The pod failed."}]`
	}
	if r.Meta.DeletionTimestamp != "" {
		switch {
		case status.Reason == "NodeLost":
			s.word = "Unknown"
		case status.Phase != "Succeeded" && status.Phase != "Failed":
			s.word = "Terminating"
		}
	}
	restarts := strconv.Itoa(s.restarts)
	if s.restarts != 0 && !s.last.IsZero() {
		restarts += " (" + columns.Human(r.Now.Sub(s.last)) + " ago)"
	}
	ip := status.PodIP
	if len(status.PodIPs) > 0 {
		ip = status.PodIPs[0].IP
	}
	gates := columns.None
	if len(spec.gates) > 0 {
		hold := 0
		for _, g := range spec.gates {
			if status.Conditions.Holds(g.ConditionType) {
				hold++
			}
		}
		gates = columns.Fraction(hold, len(spec.gates))
	}
	r.Add(r.Meta.Name, columns.Fraction(s.ready, s.total), s.word, restarts, r.Age(),
		cmp.Or(ip, columns.None), cmp.Or(spec.nodeName, columns.None), cmp.Or(status.NominatedNodeName, columns.None), gates)
}

// podSummary is the summary of a pod's containers.
type podSummary struct {
	ready, total int
	word         string
	restarts     int
	last         time.Time // of the restarts
}

func (s *podSummary) restarted(c *containerStatus) {
	s.restarts += c.RestartCount
	if t := c.LastState.Terminated; t != nil {
		if at, err := time.Parse(time.RFC3339, t.FinishedAt); err == nil && at.After(s.last) {
			s.last = at
		}
	}
}

func summarize(spec *podSpec, status *podStatus) podSummary {
	sidecar := func(name string) bool { // an init container that stays
		i := slices.IndexFunc(spec.initContainers, func(c container) bool { return c.Name == name })
		return i >= 0 && spec.initContainers[i].RestartPolicy == "Always"
	}
	s := podSummary{total: spec.containers, word: cmp.Or(status.Reason, status.Phase)}
	for _, c := range status.Conditions {
		if c.Type == "PodScheduled" && c.Reason == "SchedulingGated" {
			s.word = c.Reason
		}
	}
	for _, c := range spec.initContainers {
		if c.RestartPolicy == "Always" {
			s.total++
		}
	}
	sidecars := podSummary{} // restarts of these alone
	initializing := false
	for i := range status.Init {
		c := &status.Init[i]
		stays := sidecar(c.Name)
		s.restarted(c)
		if stays {
			sidecars.restarted(c)
		}
		if c.State.Terminated != nil && c.State.Terminated.ExitCode == 0 {
			continue
		}
		if stays && c.Started {
			if c.Ready {
				s.ready++
			}
			continue
		}
		initializing = true
		switch {
		case c.State.Terminated != nil:
			s.word = "Init:" + c.State.end()
		case c.State.Waiting != nil && c.State.Waiting.Reason != "" && c.State.Waiting.Reason != "PodInitializing":
			s.word = "Init:" + c.State.Waiting.Reason
		default:
			s.word = fmt.Sprintf("Init:%d/%d", i, len(spec.initContainers))
		}
		break
	}
	if initializing && !status.Conditions.Holds("Initialized") {
		return s
	}
	s.restarts, s.last = sidecars.restarts, sidecars.last
	running, failure := false, ""
	for i := len(status.Containers) - 1; i >= 0; i-- { // the first one has the last word
		c := &status.Containers[i]
		s.restarted(c)
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			s.word = c.State.Waiting.Reason
		case c.State.Terminated != nil:
			s.word = c.State.end()
			if c.State.Terminated.ExitCode != 0 {
				failure = s.word
			}
		case c.Ready && c.State.Running != nil:
			running = true
			s.ready++
		}
	}
	if s.word == "Completed" {
		switch {
		case running && status.Conditions.Holds("Ready"):
			s.word = "Running"
		case failure != "":
			s.word = failure
		case running:
			s.word = "NotReady"
		}
	}
	return s
}

// TemplatePrinter prints PodTemplates.
var TemplatePrinter = columns.Printer{
	Columns: columns.List(
		columns.Text("Containers", "names of the containers"),
		columns.Text("Images", "images of the containers"),
		columns.Text("Pod Labels", "labels of the pods"),
	),
	Cells: func(r *columns.Row) {
		var t Template
		r.Read("template", &t)
		names, images := t.Containers()
		r.Add(r.Meta.Name, names, images, columns.LabelList(t.Metadata.Labels))
	},
}

// Template is the pod template of a workload.
type Template struct {
	Metadata struct {
		Labels map[string]string
	}
	Spec struct {
		Containers   []container
		NodeSelector map[string]string
	}
}

// Containers returns the names and the images of the containers.
func (t *Template) Containers() (names, images string) {
	var n, i []string
	for _, c := range t.Spec.Containers {
		n, i = append(n, c.Name), append(i, c.Image)
	}
	return strings.Join(n, ","), strings.Join(i, ",")
}
