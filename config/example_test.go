package config_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/listwatch/listwatch/config"
)

func ExampleLoad() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "config")
	err = os.WriteFile(path, []byte(`
current-context: staging
contexts:
- name: staging
  context: {cluster: eu, user: ann, namespace: shop}
clusters:
- name: eu
  cluster: {server: "https://eu.example:6443"}
users:
- name: ann
  user: {token: not-for-your-eyes}
`), 0o600)
	if err != nil {
		fmt.Println(err)
		return
	}

	cfg, err := config.Load(config.Options{Path: path})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cfg.Context, cfg.Namespace, cfg.Client) // and on: client.New(cfg.Client)
	// Output: staging shop client.Config("https://eu.example:6443")
}
