//! Stories of the hints: what a check prints inside, and what nightwright finds.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::*;
use crate::settings::Settings;

const HOME: &str = "/srv/jo";
const PROJECT: &str = "/srv/jo/shop";

/// The files of the machine in these stories.
const FILES: [&str; 16] = [
    "/",
    "/srv",
    "/srv/data",
    "/srv/data/set.csv",
    "/srv/out",
    "/etc",
    "/usr/lib",
    HOME,
    "/srv/jo/.pgpass",
    "/srv/jo/.cache",
    "/srv/jo/.cache/tool",
    "/run/postgresql",
    "/run/postgresql/.s.PGSQL.5432",
    "/dev/kvm",
    "/dev/nvidia0",
    "/dev/dri/renderD128",
];

fn found_with(inside: &str, outside: &str) -> Vec<Need> {
    let files: BTreeSet<PathBuf> = FILES.iter().map(PathBuf::from).collect();
    let asked = candidates(inside, Path::new(HOME));
    let existing = files.intersection(&asked).cloned().collect();
    let (home, project) = (Path::new(HOME), Path::new(PROJECT));
    needs(inside, outside, HintContext { home, project, existing: &existing })
}

fn found(inside: &str) -> Vec<Need> {
    found_with(inside, "")
}

fn write(path: &str) -> Vec<Need> {
    vec![Need::Write(path.to_owned())]
}

fn read(path: &str) -> Vec<Need> {
    vec![Need::Read(path.to_owned())]
}

#[test]
fn a_refused_connection_to_this_machine_needs_its_port() {
    for line in [
        "Error: connect ECONNREFUSED 127.0.0.1:5432",
        "Error: connect ECONNREFUSED ::1:5432",
        "connection to server at \"localhost\" (127.0.0.1), port 5432 failed: Connection refused",
        "could not connect to server: Connection refused\n\tIs the server running on host \
         \"localhost\" (127.0.0.1) and accepting\n\tTCP/IP connections on port 5432?",
        "dial tcp 127.0.0.1:5432: connect: connection refused",
        "dial tcp [::1]:5432: connect: connection refused",
        "curl: (7) Failed to connect to localhost port 5432 after 0 ms: Couldn't connect to server",
        "bash: /dev/tcp/127.0.0.1/5432: Connection refused",
        "bash: connect: Connection refused\nbash: line 1: /dev/tcp/localhost/5432: Connection refused",
        "nc: connect to localhost (127.0.0.1) port 5432 (tcp) failed: Connection refused",
        "redis.exceptions.ConnectionError: Error 111 connecting to localhost:5432. Connection refused.",
        "HTTPConnectionPool(host='localhost', port=5432): Max retries exceeded with url: / \
         (Caused by NewConnectionError: [Errno 111] Connection refused)",
        "org.postgresql.util.PSQLException: Connection to localhost:5432 refused.",
        "error sending request for url (http://127.0.0.1:5432/): tcp connect error: Connection \
         refused (os error 111)",
        "ConnectionRefusedError: [Errno 111] Connection refused\n  while calling http://localhost:5432/x",
    ] {
        assert_eq!(found(line), [Need::Port(5432)], "{line}");
    }
    let two = "connect ECONNREFUSED 127.0.0.1:5432\nconnect ECONNREFUSED 127.0.0.1:6379\n\
               connect ECONNREFUSED 127.0.0.1:5432";
    assert_eq!(found(two), [Need::Port(5432), Need::Port(6379)]);
    // Another machine is no port of this one.
    assert_eq!(found("connect ECONNREFUSED 10.0.0.7:5432"), [Need::Other]);
}

#[test]
fn a_read_only_file_system_needs_write_access() {
    for line in [
        "bash: line 1: /srv/data/set.csv: Read-only file system",
        "/srv/jo/shop/t.sh: line 3: /srv/data/set.csv: Read-only file system",
        "t.sh: 1: cannot create /srv/data/set.csv: Read-only file system",
        "Error: EROFS: read-only file system, open '/srv/data/set.csv'",
        "OSError: [Errno 30] Read-only file system: '/srv/data/set.csv'",
        "open /srv/data/set.csv: read-only file system",
        "    main_test.go:10: open /srv/data/set.csv: read-only file system",
        "touch: cannot touch '/srv/data/set.csv': Read-only file system",
        "mkdir: cannot create directory ‘/srv/data/set.csv’: Read-only file system",
        "tar: /srv/data/set.csv: Cannot open: Read-only file system",
        "fatal: Unable to create '/srv/data/set.csv': Read-only file system",
        "java.io.FileNotFoundException: /srv/data/set.csv (Read-only file system)",
        "Read-only file system @ rb_sysopen - /srv/data/set.csv (Errno::EROFS)",
        "error: failed to write `/srv/data/set.csv`\n\nCaused by:\n  Read-only file system (os error 30)",
        "npm error path /srv/data/set.csv\nnpm error errno EROFS",
    ] {
        assert_eq!(found(line), write("/srv/data/set.csv"), "{line}");
    }
}

#[test]
fn a_file_that_does_not_exist_yet_needs_its_folder() {
    for line in [
        "bash: line 1: /srv/out/new.txt: Read-only file system",
        "Error: EROFS: read-only file system, mkdir '/srv/out/a/b'",
        // The folder itself is not visible inside.
        "bash: line 1: /srv/out/new.txt: No such file or directory",
        "sh: 1: cannot create /srv/out/new.txt: Directory nonexistent",
        "FileNotFoundError: [Errno 2] No such file or directory: '/srv/out/new.txt'",
    ] {
        assert_eq!(found(line), write("/srv/out"), "{line}");
    }
    assert_eq!(
        found("mkdir: cannot create directory '/srv/jo/.cache/tool/x': Read-only file system"),
        write("~/.cache/tool")
    );
    // No line opens the whole machine.
    for line in ["/new: Read-only file system", "/srv/jo/new: No such file or directory"] {
        assert_eq!(found(line), [Need::Other], "{line}");
    }
}

#[test]
fn a_protected_file_of_the_project_is_named_as_in_the_setting() {
    for line in [
        "error: could not lock config file .git/config: Read-only file system",
        "error: could not write config file .git/config: Device or resource busy",
        "error: could not write config file /srv/jo/shop/.git/config: Device or resource busy",
        "fatal: could not open '/srv/jo/shop/.git/config.lock' for writing: Read-only file system",
    ] {
        assert_eq!(found(line), write(".git/config"), "{line}");
    }
    let hook = "cp: cannot create regular file '.git/hooks/pre-commit': Read-only file system";
    assert_eq!(found(hook), write(".git/hooks"));
    let claude = "touch: cannot touch '/srv/jo/shop/.claude/x': Read-only file system";
    assert_eq!(found(claude), write(".claude"));
    let own = "touch: cannot touch '.nightwright/config.toml': Read-only file system";
    assert_eq!(found(own), [Need::Other], "nightwright's own files are never offered");
}

#[test]
fn a_file_that_exists_only_outside_needs_read_access() {
    for line in [
        "cat: /srv/jo/.pgpass: No such file or directory",
        "Error: ENOENT: no such file or directory, open '/srv/jo/.pgpass'",
        "FileNotFoundError: [Errno 2] No such file or directory: '/srv/jo/.pgpass'",
        "open /srv/jo/.pgpass: no such file or directory",
        "error: couldn't read `/srv/jo/.pgpass`: No such file or directory (os error 2)",
        "tar: /srv/jo/.pgpass: Cannot stat: No such file or directory",
        "the file ~/.pgpass does not exist",
    ] {
        assert_eq!(found(line), read("~/.pgpass"), "{line}");
    }
    assert_eq!(
        found("cat: /srv/data/set.csv: No such file or directory"),
        read("/srv/data/set.csv")
    );
    let socket = "connection to server on socket \"/run/postgresql/.s.PGSQL.5432\" failed: No such \
                  file or directory";
    assert_eq!(found(socket), read("/run/postgresql"), "a server makes its socket again");
    let own = "cat: /srv/jo/shop/data.txt: No such file or directory";
    assert_eq!(found(own), [Need::Other]);
}

#[test]
fn docker_means_that_the_check_runs_outside() {
    for line in [
        "permission denied while trying to connect to unix:///var/run/docker.sock",
        "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is it running?",
        "Could not find a valid Docker environment. Please see logs and check configuration",
    ] {
        assert_eq!(found(line), [Need::Containers], "{line}");
    }
}

#[test]
fn a_browser_needs_user_namespaces() {
    let line = "FATAL:zygote_host_impl_linux.cc(127)] No usable sandbox! If you are running on \
                Ubuntu 23.10+";
    assert_eq!(found(line), [Need::UserNamespaces]);
}

#[test]
fn a_device_is_named_if_the_machine_has_it() {
    let device = |path: &str| vec![Need::Device(path.to_owned())];
    for line in [
        "Could not access KVM kernel module: No such file or directory",
        "qemu: failed to initialize kvm: open /dev/kvm: No such file or directory",
    ] {
        assert_eq!(found(line), device("/dev/kvm"), "{line}");
    }
    assert_eq!(found("RuntimeError: No CUDA GPUs are available"), device("/dev/nvidia0"));
    let render = "failed to open /dev/dri/renderD128: No such file or directory";
    assert_eq!(found(render), device("/dev/dri/renderD128"));
    assert_eq!(found("cannot open /dev/video0: not found"), [Need::Other], "there is none");
}

#[test]
fn a_name_that_does_not_resolve_needs_the_network() {
    for line in [
        "getaddrinfo ENOTFOUND db.internal",
        "curl: (6) Could not resolve host: db.internal",
        "socket.gaierror: [Errno -3] Temporary failure in name resolution",
        "dial tcp: lookup db.internal on 10.0.0.1:53: no such host",
        "java.net.UnknownHostException: db.internal",
        "psql: error: could not translate host name \"db.internal\" to address",
    ] {
        assert_eq!(found(line), [Need::Network], "{line}");
    }
}

#[test]
fn lines_that_the_check_also_prints_outside_say_nothing() {
    let noise = "cat: /srv/jo/.pgpass: No such file or directory";
    let inside = format!("{noise}\nconnect ECONNREFUSED 127.0.0.1:5432\n");
    assert_eq!(found_with(&inside, noise), [Need::Port(5432)]);
    assert_eq!(found_with(noise, noise), [Need::Other]);
    assert_eq!(found("2 tests failed"), [Need::Other]);
}

fn of(command: &str, needs: Vec<Need>) -> HostNeeds {
    HostNeeds { command: command.to_owned(), needs }
}

#[test]
fn the_lines_keep_what_is_set_already_and_are_one_per_key() {
    let mut settings = Settings::default();
    settings.verify.commands = ["make", "make \"e2e\"", "make db"].map(str::to_owned).to_vec();
    settings.verify.outside = vec!["make db".to_owned()];
    settings.sandbox.write = vec!["/srv/a".to_owned()];
    let all = [
        of("make", [write("/srv/b"), write("/srv/a"), vec![Need::Port(1), Need::Port(2)]].concat()),
        of("make \"e2e\"", vec![Need::Other, Need::Port(1), Need::UserNamespaces]),
    ];
    assert_eq!(
        lines(&all, &settings),
        [
            "sandbox.host_ports = [1, 2]",
            "sandbox.write = [\"/srv/a\", \"/srv/b\"]",
            "sandbox.userns = true",
            "verify.commands = [\"make\", { run = 'make \"e2e\"', sandbox = false }, \
             { run = \"make db\", sandbox = false }]",
        ]
    );
}

#[test]
fn every_need_has_its_words() {
    let needs = [write("/srv/b"), vec![Need::Port(5432)]].concat();
    let one = of("make e2e", needs);
    let said = "`make e2e` fails in the sandbox and passes outside; it needs write access to \
                `/srv/b`, port 5432 of this machine";
    assert_eq!(sentence(std::slice::from_ref(&one)).as_deref(), Some(said));
    let other = of("make db", vec![Need::Other]);
    assert_eq!(
        sentence(&[one.clone(), other.clone()]),
        Some(format!("{said}; `make db` passes only outside, too"))
    );
    assert_eq!(
        sentence(&[one, other.clone(), other]),
        Some(format!("{said}; 2 more checks pass only outside, too"))
    );
    assert_eq!(sentence(&[]), None);
}
