// Package until ends a watch when the conditions of --until, --until-any or --fail-on hold.
package until
