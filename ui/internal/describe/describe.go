package describe

import (
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/shell"
	"github.com/listwatch/listwatch/internal/yamltext"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/ui/internal/diff"
)

// maxYAML is how many bytes of an object's YAML are shown.
const maxYAML = 1 << 20

// Description is what a page says about an object, as PROTOCOL.md has it.
type Description struct {
	YAML       string            `json:"yaml"`
	Truncated  bool              `json:"truncated"`
	Facts      []Fact            `json:"facts,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	Conditions []Condition       `json:"conditions"`
	Containers []Container       `json:"containers,omitempty"`
	Commands   []Command         `json:"commands"`
}

// Fact is a cell of a list, also of the wide columns.
type Fact struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// facts are the cells that say something, and that no time makes wrong: an age is one of then.
func facts(cells iter.Seq2[string, string]) []Fact {
	var list []Fact
	for name, text := range cells {
		if text != "" && text != "<none>" && !slices.Contains([]string{"Name", "Namespace", "Age", "Duration", "Last Schedule", "Last Seen", "First Seen"}, name) {
			list = append(list, Fact{name, text})
		}
	}
	return list
}

// Condition is one of an object's status.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Since   int64  `json:"since,omitempty"`
	Good    bool   `json:"good"`
}

// Container is one of a pod.
type Container struct {
	Name     string `json:"name"`
	Init     bool   `json:"init"`
	Restarts int64  `json:"restarts"`
	State    string `json:"state"`
	Message  string `json:"message,omitempty"` // of the state
	Last     string `json:"last,omitempty"`    // the state before, which a restart ended
	Image    string `json:"image,omitempty"`

	LastMessage string `json:"lastMessage,omitempty"` // of the state before
}

// Command is one to copy.
type Command struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

// Of describes the object of a type, such as deployments.apps, that has a JSON text, and cells
// with the names of their columns.
func Of(typ string, key kube.Key, text string, cells iter.Seq2[string, string]) (Description, error) {
	d := Description{Facts: facts(cells), Conditions: []Condition{}}
	m, err := diff.Parse(text)
	if err != nil {
		return d, err
	}
	sorted, err := codec.Encode(m)
	if err != nil {
		return d, err
	}
	if d.YAML, d.Truncated, err = yamltext.Of(sorted, maxYAML); err != nil {
		return d, err
	}
	var o struct {
		Metadata struct {
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
		Status struct {
			Conditions []struct {
				Type, Status, Reason, Message string
				LastTransitionTime            time.Time `json:"lastTransitionTime"`
			} `json:"conditions"`
			Init       []containerStatus `json:"initContainerStatuses"`
			Containers []containerStatus `json:"containerStatuses"`
		} `json:"status"`
	}
	// Another kind may have other types in these fields: what fits is shown.
	_ = json.Unmarshal([]byte(text), &o)
	d.Labels = o.Metadata.Labels
	for _, c := range o.Status.Conditions {
		at := int64(0)
		if !c.LastTransitionTime.IsZero() {
			at = c.LastTransitionTime.UnixMilli()
		}
		d.Conditions = append(d.Conditions, Condition{c.Type, c.Status, c.Reason, c.Message, at, good(c.Type, c.Status)})
	}
	for _, c := range o.Status.Init {
		d.Containers = append(d.Containers, c.container(true))
	}
	for _, c := range o.Status.Containers {
		d.Containers = append(d.Containers, c.container(false))
	}
	d.Commands = commands(typ, key, d.Containers)
	return d, nil
}

type containerStatus struct {
	Name     string         `json:"name"`
	Image    string         `json:"image"`
	Restarts int64          `json:"restartCount"`
	State    containerState `json:"state"`
	Last     containerState `json:"lastState"`
}

func (c *containerStatus) container(init bool) Container {
	w := Container{Name: c.Name, Init: init, Restarts: c.Restarts, Last: c.Last.String(), Image: c.Image}
	w.State = c.State.String()
	for _, s := range c.State {
		w.Message = s.Message
	}
	for _, s := range c.Last {
		w.LastMessage = s.Message
	}
	return w
}

// containerState has one member: waiting, running or terminated.
type containerState map[string]struct {
	Reason   string `json:"reason"`
	Message  string `json:"message"`
	ExitCode int    `json:"exitCode"`
}

// String is a state such as "terminated: OOMKilled, exit code 137".
func (c containerState) String() string {
	for name, s := range c {
		if s.Reason != "" {
			name += ": " + s.Reason
		}
		if s.ExitCode != 0 {
			name += ", exit code " + strconv.Itoa(s.ExitCode)
		}
		return name
	}
	return ""
}

// good reports whether a condition has its healthy status: those that name a fault should
// be false.
func good(name, status string) bool {
	bad := strings.HasSuffix(name, "Pressure") || strings.HasSuffix(name, "Failed") || strings.HasSuffix(name, "Failure") || strings.HasSuffix(name, "Unavailable") ||
		slices.Contains([]string{"Degraded", "Stalled", "Failing", "Suspended", "DisruptionTarget"}, name)
	return (status == "True") != bad
}

// commands are those of kubectl for what the page does not do.
func commands(typ string, key kube.Key, containers []Container) []Command {
	in := ""
	if key.Namespace != "" {
		in = " -n " + shell.Quote(key.Namespace)
	}
	name := shell.Quote(typ + "/" + key.Name) // with its type: a name may look like a flag
	list := []Command{
		{"Read it", "kubectl get " + name + in + " -o yaml"},
		{"Describe it", "kubectl describe " + name + in},
	}
	if typ == "pods" {
		for _, c := range containers {
			if !c.Init {
				list = append(list, Command{"Open a shell in " + c.Name, "kubectl exec -it" + in + " " + name + " -c " + shell.Quote(c.Name) + " -- sh"})
			}
		}
		list = append(list, Command{"Forward a port", "kubectl port-forward" + in + " " + name + " 8080"})
	}
	if slices.Contains([]string{"deployments.apps", "statefulsets.apps", "daemonsets.apps"}, typ) {
		list = append(list, Command{"Follow its rollout", "kubectl rollout status" + in + " " + name})
	}
	return list
}
