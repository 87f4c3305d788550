use super::*;

fn service() -> Service {
    Service {
        name: "migrate-api".to_owned(),
        program: "/usr/local/bin/nightwright".to_owned(),
        project: "/srv/me/shop".to_owned(),
        run: "migrate-api".to_owned(),
        environment: vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())],
    }
}

/// Everything that means something to systemd, or to XML.
fn odd() -> Service {
    Service {
        name: "odd".to_owned(),
        program: "/opt/a $b/leg\"work".to_owned(),
        project: "/srv/me/50% <off> & 'more' $HOME \\n--x".to_owned(),
        run: "odd".to_owned(),
        environment: vec![("PATH".to_owned(), "/a b:/50%/$c:/\"d\"".to_owned())],
    }
}

#[test]
fn the_unit_of_systemd() {
    let unit = "\
# Made by `nightwright service install`: it is written anew by the next one.
# Project: /srv/me/shop
[Unit]
Description=nightwright: migrate-api in /srv/me/shop
StartLimitIntervalSec=1h
StartLimitBurst=5

[Service]
Type=exec
WorkingDirectory=/srv/me/shop
Environment=PATH=/usr/local/bin:/usr/bin:/bin
EnvironmentFile=-%h/.config/nightwright/environment
ExecStart=/usr/local/bin/nightwright resume --if-needed -C /srv/me/shop migrate-api
KillMode=mixed
TimeoutStopSec=60
SuccessExitStatus=130
Restart=on-abnormal
RestartForceExitStatus=101
RestartSec=30
Delegate=yes

[Install]
WantedBy=default.target
";
    assert_eq!(systemd::unit(&service()), unit);
}

#[test]
fn in_a_unit_nothing_stands_for_something_else() {
    let unit = systemd::unit(&odd());
    let line = |begin: &str| unit.lines().find(|line| line.starts_with(begin)).unwrap().to_owned();
    assert_eq!(
        line("ExecStart="),
        r#"ExecStart="/opt/a $b/leg\"work" resume --if-needed -C "/srv/me/50%% <off> & 'more' $$HOME \\n--x" odd"#
    );
    assert_eq!(line("Environment="), r#"Environment="PATH=/a b:/50%%/$c:/\"d\"""#);
    assert_eq!(
        line("WorkingDirectory="),
        r"WorkingDirectory=/srv/me/50%% <off> & 'more' $HOME \n--x"
    );
}

#[test]
fn the_agent_of_launchd() {
    let agent = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Made by `nightwright service install`: it is written anew by the next one. -->
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>dev.nightwright.migrate-api</string>
	<key>ProgramArguments</key>
	<array>
		<string>/usr/local/bin/nightwright</string>
		<string>resume</string>
		<string>--if-needed</string>
		<string>-C</string>
		<string>/srv/me/shop</string>
		<string>migrate-api</string>
	</array>
	<key>WorkingDirectory</key>
	<string>/srv/me/shop</string>
	<key>EnvironmentVariables</key>
	<dict>
		<key>PATH</key>
		<string>/usr/local/bin:/usr/bin:/bin</string>
	</dict>
	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>Crashed</key>
		<true/>
	</dict>
	<key>ThrottleInterval</key>
	<integer>30</integer>
	<key>ExitTimeOut</key>
	<integer>60</integer>
</dict>
</plist>
"#;
    assert_eq!(launchd::agent(&service()), agent);
}

#[test]
fn in_an_agent_nothing_stands_for_something_else() {
    let agent = launchd::agent(&odd());
    let project = r"<string>/srv/me/50% &lt;off&gt; &amp; 'more' $HOME \n--x</string>";
    assert_eq!(agent.matches(project).count(), 2, "{agent}");
}

/// Two hyphens would end a comment of XML, or be refused in it.
#[test]
fn what_an_agent_has_in_its_comment_can_t_end_it() {
    for project in ["/a--b", "/a---b", "/a-->b", "/a----", "/-"] {
        let service = Service { project: project.to_owned(), ..service() };
        let agent = launchd::agent(&service);
        let (_, comment) = agent.split_once("<!--").unwrap();
        let (comment, rest) = comment.split_once("--").unwrap();
        assert!(rest.starts_with(">\n<plist"), "{project}: the comment ends too early: {comment}");
    }
}

#[test]
fn a_service_is_written_over_by_one_for_the_same_project_whatever_that_is_called() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("service");
    for manager in [Manager::Systemd, Manager::Launchd] {
        for project in ["/srv/a--b", "/srv/a---b", "/srv/a- -b", &odd().project] {
            let service = Service { project: project.to_owned(), ..service() };
            write(&file, &manager.text(&service)).unwrap();
            may_be_written(&file, manager, project)
                .unwrap_or_else(|refused| panic!("{manager:?} for {project}: {}", refused.message));
            let other = may_be_written(&file, manager, "/srv/other").unwrap_err();
            assert!(other.message.ends_with(&format!("it is for `{project}`")), "{other:?}");
        }
    }
}

#[test]
fn launchd_forgets_an_agent_before_it_hears_of_it_again() {
    let user = rustix::process::getuid().as_raw();
    let said = lines(&launchd::commands("x", Path::new("/srv/x.plist")));
    let expected = format!(
        "launchctl bootout gui/{user}/dev.nightwright.x\n  \
         launchctl bootstrap gui/{user} /srv/x.plist\n\
         `launchctl bootout` may fail: there may be none yet"
    );
    assert_eq!(said, expected);
    let nothing_to_forget = Telling::may_fail(["false".to_owned()]);
    carry_out(&nothing_to_forget).unwrap();
    carry_out(&Telling::must_work(["false".to_owned()])).unwrap_err();
}

#[test]
fn what_would_begin_another_line_is_refused() {
    for path in ["/a\nExecStart=/bin/evil", "/a\tb", "/a\\", "/a "] {
        let error = plain("the project", Path::new(path)).unwrap_err();
        assert!(error.message.starts_with("the project is `/a"), "{}", error.message);
    }
    assert_eq!(plain("the project", Path::new("/a b/ä")).unwrap(), "/a b/ä");
}

#[test]
fn a_program_that_would_not_be_started_is_refused() {
    for path in ["/opt/a\"b", "/opt/it's/nightwright", "/opt/a\\b"] {
        let error = Manager::Systemd.program(path.to_owned()).unwrap_err();
        assert!(error.message.contains(path), "{}", error.message);
        Manager::Launchd.program(path.to_owned()).unwrap();
    }
    Manager::Systemd.program("/opt/a $b 50%/nightwright".to_owned()).unwrap();
}

#[test]
fn each_manager_has_its_place_for_services() {
    let home = |name| (name == "HOME").then(|| OsString::from("/srv/me"));
    let both = |name: &'static str| match name {
        "XDG_CONFIG_HOME" => Some(OsString::from("/conf")),
        name => home(name),
    };
    let shown = |path: Option<PathBuf>| path.unwrap().display().to_string();
    let unit = "systemd/user/nightwright-x.service";
    assert_eq!(shown(systemd::file("x", home)), format!("/srv/me/.config/{unit}"));
    assert_eq!(shown(systemd::file("x", both)), format!("/conf/{unit}"));
    assert_eq!(systemd::file("x", |_| None), None);
    let agent = "/srv/me/Library/LaunchAgents/dev.nightwright.x.plist";
    assert_eq!(shown(launchd::file("x", both)), agent);
}

#[test]
fn what_only_this_shell_has_is_named_and_the_rest_is_not() {
    let ours = ["PATH", "HOME", "LC_ALL", "ANTHROPIC_API_KEY", "MY_TOKEN", "OTHER", "TERM"];
    let names = missing_of(ours.map(OsString::from), &["MY_*".to_owned()]);
    assert_eq!(names, ["ANTHROPIC_API_KEY", "MY_TOKEN"]);
}
