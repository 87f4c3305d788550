use super::*;

fn service() -> ServiceUnit {
    ServiceUnit {
        name: "migrate-api".to_owned(),
        program: "/usr/local/bin/nightwright".to_owned(),
        project: "/srv/me/shop".to_owned(),
        run: "migrate-api".to_owned(),
        environment: vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())],
    }
}

/// Returns a unit with every character that is special to systemd.
fn odd() -> ServiceUnit {
    ServiceUnit {
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
# Made by `nightwright service install`: the next installation replaces it.
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
fn a_service_is_written_over_by_one_for_the_same_project_whatever_that_is_called() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("service");
    for project in ["/srv/a--b", "/srv/a- -b", &odd().project] {
        let service = ServiceUnit { project: project.to_owned(), ..service() };
        write(&file, &systemd::unit(&service)).unwrap();
        assert_eq!(conflict(&file, project).unwrap(), None, "for {project}");
        let other = conflict(&file, "/srv/other").unwrap().unwrap();
        assert!(other.ends_with(&format!("it is for `{project}`")), "{other:?}");
    }
}

#[test]
fn a_command_that_fails_is_an_error() {
    carry_out(&["true".to_owned()]).unwrap();
    carry_out(&["false".to_owned()]).unwrap_err();
}

#[test]
fn line_breaks_are_refused() {
    for path in ["/a\nExecStart=/bin/evil", "/a\tb", "/a\\", "/a "] {
        let error = plain("the project", Path::new(path)).unwrap_err();
        assert!(
            error.message.starts_with("cannot install the service: the path of the project "),
            "{}",
            error.message
        );
    }
    assert_eq!(plain("the project", Path::new("/a b/ä")).unwrap(), "/a b/ä");
}

#[test]
fn a_program_that_would_not_be_started_is_refused() {
    for path in ["/opt/a\"b", "/opt/it's/nightwright", "/opt/a\\b"] {
        let error = startable(path.to_owned()).unwrap_err();
        assert!(error.message.contains(path), "{}", error.message);
    }
    startable("/opt/a $b 50%/nightwright".to_owned()).unwrap();
}

#[test]
fn units_are_in_the_configuration_folder_of_systemd() {
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
}

#[test]
fn only_variables_that_the_service_lacks_are_named() {
    let ours = ["PATH", "HOME", "LC_ALL", "ANTHROPIC_API_KEY", "MY_TOKEN", "OTHER", "TERM"];
    let ours = ours.map(|name| (name.into(), "x".into()));
    let names = missing_of(ours, &BTreeMap::new(), &["MY_*".to_owned()]);
    assert_eq!(names, ["ANTHROPIC_API_KEY", "MY_TOKEN"]);
}

#[test]
fn the_account_of_a_cloud_is_named_only_if_its_switch_is_on() {
    let switch = "CLAUDE_CODE_USE_BEDROCK";
    let named = |value: &str, own: &[(&str, &str)]| {
        let ours = [(switch, value), ("AWS_PROFILE", "work")];
        let own = own.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let missing =
            missing_of(ours.map(|(name, value)| (name.into(), value.into())), &own.collect(), &[]);
        missing.contains(&"AWS_PROFILE".to_owned())
    };
    assert!(named("1", &[]) && named("true", &[]));
    for off in ["0", "false", ""] {
        assert!(!named(off, &[]), "{off:?}");
        assert!(named(off, &[(switch, "1")]), "{off:?}");
        assert!(!named("1", &[(switch, off)]), "{off:?}");
    }
}
