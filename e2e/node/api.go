package node

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// pod is what is read of a Pod.
type pod struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		NodeName      string      `json:"nodeName"`
		RestartPolicy string      `json:"restartPolicy"`
		Containers    []container `json:"containers"`
	} `json:"spec"`
	Status struct {
		Phase      string `json:"phase"`
		StartTime  string `json:"startTime"`
		Conditions []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
	} `json:"status"`
}

type container struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}

func (o pod) ready() bool {
	for _, c := range o.Status.Conditions {
		if c.Type == "Ready" {
			return c.Status == "True"
		}
	}
	return false
}

// node is what is read of a Node.
type node struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Unschedulable bool `json:"unschedulable"`
	} `json:"spec"`
}

// fields are the members of a JSON object.
type fields = map[string]any

func now() string { return time.Now().UTC().Format(time.RFC3339) }

// newNode is the n-th Node, which says that it is ready. Its addresses are from a
// range for documentation.
func newNode(name string, n int) fields {
	return fields{
		"apiVersion": "v1", "kind": "Node",
		"metadata": fields{"name": name, "labels": fields{"kubernetes.io/hostname": name}},
		"status": fields{
			"addresses":   []fields{{"type": "InternalIP", "address": fmt.Sprintf("192.0.2.%d", n+10)}},
			"allocatable": fields{"pods": "110"},
			"capacity":    fields{"pods": "110"},
			"conditions":  []fields{condition("Ready", true, "KubeletReady")},
		},
	}
}

func condition(typ string, is bool, reason string) fields {
	c := fields{"type": typ, "status": map[bool]string{true: "True", false: "False"}[is], "lastTransitionTime": now()}
	if reason != "" {
		c["reason"] = reason
	}
	return c
}

// status is what a Pod's kubelet says, with the same state of all containers.
func status(o pod, phase string, ready bool, reason string, state fields) fields {
	started := o.Status.StartTime
	if started == "" {
		started = now()
	}
	var containers []fields
	for _, c := range o.Spec.Containers {
		containers = append(containers, fields{
			"name": c.Name, "image": c.Image, "imageID": c.Image, "ready": ready, "started": ready, "restartCount": 0, "state": state,
		})
	}
	return fields{
		"phase": phase, "startTime": started, "containerStatuses": containers,
		"conditions": []fields{
			condition("Initialized", true, ""), condition("ContainersReady", ready, reason), condition("Ready", ready, reason),
		},
	}
}

// runningStatus is that of the n-th Pod.
func runningStatus(o pod, n int) fields {
	s := status(o, "Running", true, "", fields{"running": fields{"startedAt": now()}})
	ip := fmt.Sprintf("10.244.%d.%d", n>>8&0xff, n&0xff)
	s["podIP"], s["podIPs"] = ip, []fields{{"ip": ip}}
	return s
}

func succeededStatus(o pod) fields {
	return status(o, "Succeeded", false, "PodCompleted", ended("Completed"))
}

// terminatedStatus: the kubelet has stopped the containers of a deleted Pod.
func terminatedStatus(o pod) fields {
	if o.Status.Phase == "Failed" {
		return status(o, "Failed", false, "PodFailed", ended("Error"))
	}
	return status(o, "Succeeded", false, "PodCompleted", ended("Completed"))
}

func ended(reason string) fields {
	return fields{"terminated": fields{"exitCode": 0, "reason": reason, "finishedAt": now()}}
}

func (p *player) bind(ctx context.Context, o pod, node string) error {
	return post(ctx, p.client, kube.Pods.ObjectPath(kube.KeyOf(o), "binding"), fields{
		"apiVersion": "v1", "kind": "Binding",
		"metadata": fields{"name": o.Name, "uid": o.UID},
		"target":   fields{"apiVersion": "v1", "kind": "Node", "name": node},
	})
}

// status patches, so that conditions of others stay.
func (p *player) status(ctx context.Context, o pod, status fields) error {
	return send(ctx, p.client, http.MethodPatch, kube.Pods.ObjectPath(kube.KeyOf(o), "status"), "application/strategic-merge-patch+json",
		fields{"metadata": fields{"uid": o.UID}, "status": status})
}

func (p *player) remove(ctx context.Context, o pod) error {
	return send(ctx, p.client, http.MethodDelete, kube.Pods.ObjectPath(kube.KeyOf(o)), "application/json", fields{
		"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "preconditions": fields{"uid": o.UID},
	})
}

func post(ctx context.Context, c *client.Client, path string, object fields) error {
	return send(ctx, c, http.MethodPost, path, "application/json", object)
}

// send makes one write; what is answered does not matter.
func send(ctx context.Context, c *client.Client, method, path, contentType string, object fields) error {
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	resp, err := c.Do(ctx, &client.Request{Method: method, Path: path, Body: body, ContentType: contentType})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, 16<<20))
	return err
}
