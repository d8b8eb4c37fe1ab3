package help

import (
	"slices"
	"strings"
)

// instead has what to type here in place of commands of kubectl.
var instead = map[string]string{
	"get":           `"listwatch list" lists, "listwatch watch" follows`,
	"describe":      `"listwatch list TYPE/NAME -o yaml" prints the object, "listwatch list events --for TYPE/NAME" its Events, "listwatch rollout TYPE/NAME" what it waits for`,
	"events":        `"listwatch watch events" follows Events, "listwatch list events --for TYPE/NAME" lists those of one object`,
	"logs":          `the page of "listwatch ui" shows the log of a pod; in a terminal: kubectl logs`,
	"top":           `"listwatch list pods.metrics.k8s.io" lists what pods use, "listwatch list nodes.metrics.k8s.io" what nodes use`,
	"wait":          `"listwatch watch TYPE/NAME --until condition=Ready --timeout 5m" waits`,
	"api-resources": `to name the types: kubectl api-resources; "listwatch watch '*'" watches all of them`,
	"explain":       `"listwatch explain-exit" explains an exit code; the fields of a type: kubectl explain`,
	"cluster-info":  `"listwatch auth check" prints the server, the identity and the rights`,
	"proxy":         `"listwatch record proxy ADDRESS" forwards requests and records them; without a recording: kubectl proxy`,
	"config":        `listwatch reads the kubeconfig of kubectl, and has --kubeconfig and --context; to change it: kubectl config`,
}

// changes are the commands of kubectl that change a cluster, or enter a container.
var changes = []string{"annotate", "apply", "attach", "autoscale", "cordon", "cp", "create", "debug", "delete", "drain", "edit", "exec", "expose",
	"label", "patch", "port-forward", "replace", "run", "scale", "set", "taint", "uncordon"}

// Instead returns what to type in place of a command of kubectl, which args begin with, ""
// if it is none.
func Instead(command string, args []string) string {
	if command == "get" && slices.ContainsFunc(args, func(arg string) bool {
		return arg == "-w" || arg == "--watch" || arg == "--watch=true" || strings.HasPrefix(arg, "--watch-only")
	}) {
		return `"listwatch watch" follows, from the objects that exist on`
	}
	if slices.Contains(changes, command) {
		return "listwatch only reads; to change a cluster: kubectl " + command
	}
	return instead[command]
}
