package escape

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// denyAll is for what every policy but the open network denies.
func denyAll(open string) map[policy]string { return map[policy]string{"": "EPERM", networkOpen: open} }

var sockets = []attempt{
	{"families", families, map[policy]string{
		"": "1/1 1/5", managed: "2/1 2/2 10/1 10/2", networkOpen: "no vsock no packet",
	}},
	{
		"connect to a socket outside", func(s *scene) error { return connectUnix(unix.SOCK_STREAM, s.at("outside/socket")) },
		map[policy]string{"": "EPERM", networkOpen: "EACCES"},
	},
	{
		"connect by a link", func(s *scene) error { return connectUnix(unix.SOCK_STREAM, s.at("ws/socket-link")) },
		map[policy]string{"": "EPERM", networkOpen: "EACCES"},
	},
	{"connect in the workspace to a socket of others", func(s *scene) error {
		return connectUnix(unix.SOCK_STREAM, s.at("ws/socket"))
	}, map[policy]string{"": "EPERM", networkOpen: ""}},
	{"connect by the directory's descriptor", func(s *scene) error {
		dir, err := unix.Open(s.at("outside"), unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		defer unix.Close(dir)
		return connectUnix(unix.SOCK_STREAM, fmt.Sprintf("/proc/self/fd/%d/socket", dir))
	}, map[policy]string{"": "EPERM", networkOpen: "EACCES", restrictedRead: "ENOENT"}},
	{"connect without a path", func(s *scene) error { return connectUnix(unix.SOCK_STREAM, s.Abstract) }, denyAll("EPERM")},
	{"send without connecting", func(s *scene) error {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Sendmsg(fd, []byte("x"), nil, &unix.SockaddrUnix{Name: s.at("outside/datagram")}, 0)
	}, always("EPERM")},
	{"send with one of a pair", func(s *scene) error {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		return unix.Sendmsg(pair[0], []byte("x"), nil, &unix.SockaddrUnix{Name: s.at("outside/datagram")}, 0)
	}, always("EPERM")},
	{"own sockets work", ownSockets, map[policy]string{"": "", networkOpen: "ok", landlockOpen: ""}},
	{
		"reach the host's loopback", func(s *scene) error { return connectTCP([4]byte{127, 0, 0, 1}, s.Port) },
		map[policy]string{"": "EPERM", networkOpen: "", managed: "ECONNREFUSED"},
	},
	{
		"reach the network", func(*scene) error { return connectTCP([4]byte{192, 0, 2, 1}, 80) },
		map[policy]string{"": "EPERM", networkOpen: "", managed: "ENETUNREACH"},
	},
	{"send to the network", func(*scene) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Sendto(fd, []byte("x"), 0, &unix.SockaddrInet4{Port: 53, Addr: [4]byte{192, 0, 2, 1}})
	}, map[policy]string{"": "EPERM", networkOpen: "", managed: "ENETUNREACH"}},
	{"raw packets", func(*scene) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_RAW)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}, always("EPERM")},
}

// families tells which sockets can be made. Of an open network there are many; so
// there it is told which of those that must not be can't be made.
func families(s *scene) error {
	var made []string
	for family := range 46 {
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_SEQPACKET} {
			fd, err := unix.Socket(family, kind, 0)
			if err != nil {
				continue
			}
			unix.Close(fd)
			made = append(made, fmt.Sprintf("%d/%d", family, kind))
		}
	}
	if s.Policy != networkOpen && s.Policy != landlockOpen {
		return got(strings.Join(made, " "))
	}
	text := " " + strings.Join(made, " ")
	if strings.Contains(text, fmt.Sprintf(" %d/", unix.AF_VSOCK)) || strings.Contains(text, fmt.Sprintf(" %d/", unix.AF_PACKET)) {
		return got(text)
	}
	return got("no vsock no packet")
}

func connectUnix(kind int, path string) error {
	fd, err := unix.Socket(unix.AF_UNIX, kind, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrUnix{Name: path})
}

func connectTCP(address [4]byte, port int) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: address})
}

// ownSockets connects to what this program itself listens on.
func ownSockets(s *scene) error {
	path := s.at("ws/own-socket")
	defer os.Remove(path)
	for _, name := range []string{path, "@" + path} {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err == nil {
			err = unix.Bind(fd, &unix.SockaddrUnix{Name: name})
		}
		if err == nil {
			err = unix.Listen(fd, 1)
		}
		if err == nil {
			err = connectUnix(unix.SOCK_STREAM, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
