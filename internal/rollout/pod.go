package rollout

import (
	"fmt"
	"strings"
)

// Unready returns why a Pod is not ready, a line for each reason; nil if it is, or has
// finished.
func Unready(pod map[string]any) []string {
	status := member(pod, "status")
	switch {
	case member(pod, "metadata")["deletionTimestamp"] != nil:
		return []string{"is being deleted"}
	case status["phase"] == "Succeeded", condition(status, "Ready")["status"] == "True":
		return nil
	case status["phase"] == "Failed":
		return []string{"failed" + because(status)}
	}
	if c := condition(status, "PodScheduled"); c["status"] == "False" {
		return []string{"is not scheduled" + because(c)}
	}
	var why []string
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		containers, _ := status[list].([]any)
		for _, e := range containers {
			c, _ := e.(map[string]any)
			if text := container(c, list == "initContainerStatuses"); text != "" {
				why = append(why, fmt.Sprintf("container %v: %s", c["name"], text))
			}
		}
	}
	if why == nil {
		why = []string{"is not ready" + because(condition(status, "Ready"))}
	}
	return why
}

// Refused returns why Pods of an object are not created, as its conditions say.
func Refused(object map[string]any) []string {
	if c := condition(member(object, "status"), "ReplicaFailure"); c["status"] == "True" {
		return []string{strings.TrimPrefix(because(c), ": ")}
	}
	return nil
}

// container says why a container is not ready, nothing if it is, or waits for others.
func container(c map[string]any, initial bool) string {
	state := member(c, "state")
	restarts := ""
	if n := number(c["restartCount"]); n > 0 {
		restarts = fmt.Sprintf(" (restarted %d times)", n)
		if last := member(member(c, "lastState"), "terminated"); last != nil {
			restarts = fmt.Sprintf(" (restarted %d times, last after exit code %d: %v)", n, number(last["exitCode"]), last["reason"])
		}
	}
	if w := member(state, "waiting"); w != nil {
		if w["reason"] == "PodInitializing" {
			return ""
		}
		return fmt.Sprint("is waiting", because(w), restarts)
	}
	if t := member(state, "terminated"); t != nil {
		if initial && number(t["exitCode"]) == 0 {
			return ""
		}
		return fmt.Sprintf("ended with exit code %d%s%s", number(t["exitCode"]), because(t), restarts)
	}
	if c["ready"] == true {
		return ""
	}
	return "is running and not ready" + restarts
}

// because is the reason and the message of a state or a condition.
func because(m map[string]any) string {
	text := ""
	for _, name := range []string{"reason", "message"} {
		if s, _ := m[name].(string); s != "" {
			text += ": " + s
		}
	}
	return text
}
