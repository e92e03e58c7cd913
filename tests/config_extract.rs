//! `[extract.NAME]` and the formats of outputs: what they mean, and what is
//! refused, with line and key.

use canter::config::{Format, PageField, Settings, Source};

const SEED: &str = "[crawl]\nseeds = [\"https://example.com/\"]\n";

/// Reads `[crawl]` with a seed on lines 1 and 2, and `text` from line 3 on.
fn seeded(text: &str) -> Result<Settings, canter::config::ConfigError> {
    let environment = |name: &str| (name == "CSS").then(|| "h1".to_owned());
    Source::text(format!("{SEED}{text}"))
        .environment(environment)
        .read()
}

#[track_caller]
fn refused(text: &str, problems: &[&str]) {
    let error = match seeded(text) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("it is read: {text}"),
    };
    assert_eq!(error.lines().collect::<Vec<_>>(), problems);
}

#[test]
fn a_format_is_said_or_is_that_of_the_name() {
    let format = |text: &str| {
        seeded(&format!("[output]\n{text}"))
            .expect(text)
            .output
            .format
    };
    assert_eq!(format(""), Format::JsonLines);
    assert_eq!(format("path = \"x.csv\""), Format::Csv);
    assert_eq!(format("path = \"x-{date}.CSV\""), Format::Csv);
    assert_eq!(format("path = \"x.txt\""), Format::JsonLines);
    assert_eq!(format("path = \"x.txt\"\nformat = \"csv\""), Format::Csv);
    assert_eq!(
        format("path = \"x.csv\"\nformat = \"jsonl\""),
        Format::JsonLines
    );
    assert_eq!(
        format("format = \"csv\""),
        Format::Csv,
        "standard output, too"
    );
    refused(
        "[output]\nformat = \"cvs\"\nbodies = \"b-{date}\"",
        &[
            "4:10: output.format: must be \"jsonl\" or \"csv\", not \"cvs\"; did you mean \"csv\"?",
            "5:10: output.bodies: must not hold braces: it is one folder for all runs",
        ],
    );
}

#[test]
fn json_ld_is_a_field_that_a_key_adds() {
    let fields = |text: &str| -> Vec<&str> {
        let settings = seeded(&format!("[output]\n{text}")).expect(text);
        settings.output.fields.iter().map(PageField::name).collect()
    };
    assert_eq!(
        fields("fields = [\"url\"]\njsonld = true"),
        ["url", "jsonld"]
    );
    assert_eq!(
        fields("fields = [\"jsonld\", \"url\"]\njsonld = true"),
        ["jsonld", "url"]
    );
    assert_eq!(
        fields("fields = [\"hash\", \"changed\"]\njsonld = false"),
        ["hash", "changed"]
    );
    assert!(!fields("").contains(&"jsonld"));
}

#[cfg(not(feature = "select"))]
#[test]
fn a_build_without_the_feature_says_what_it_lacks() {
    let lacks = "this program is built without the feature \"select\", which it needs; \
                 `make install` builds it with every feature, `cargo build --features select` with this one";
    refused(
        "[extract.a]\nfields = { x = \"h1\" }\n[extract.b]\nwhatever = 1",
        &[
            &format!("3:10: extract.a: {lacks}"),
            &format!("5:10: extract.b: {lacks}"),
        ],
    );
    refused(
        "[extract]\nselect = \"h1\"",
        &[
            "4:1: extract.select: must be a table, not a string; write [extract.NAME] above its keys",
        ],
    );
    refused(
        "[extract]\nfields = { x = \"h1\" }",
        &[
            "4:1: extract.fields: must be in a table that has a name; write [extract.NAME] above its keys",
        ],
    );
}

#[cfg(feature = "select")]
mod with_rules {
    use super::*;

    #[test]
    fn rules_are_what_the_table_says_in_its_order() {
        let settings = seeded(
            "[extract.z]\npaths = [\"/p/*\"]\nselect = \"li\"\noutput = \"z.csv\"\n\
             [extract.z.fields]\nname = \"b\"\nage = { select = \"i\", type = \"number\", decimal = \",\" }\n\
             list = { select = \"u\", type = \"list\", of = \"url\", default = [\"x\"] }\n\
             [extract.a]\nfields = { b = { attr = \"id\", required = true }, a = \"h1\" }\n",
        )
        .expect("valid");
        let names: Vec<_> = settings
            .extract
            .iter()
            .map(|extract| extract.rules.name())
            .collect();
        assert_eq!(names, ["z", "a"], "in the order of the file");
        let fields = |at: usize| -> Vec<String> {
            let rules = &settings.extract[at].rules;
            rules
                .fields()
                .map(|field| field.name().to_owned())
                .collect()
        };
        assert_eq!(fields(0), ["name", "age", "list"]);
        assert_eq!(fields(1), ["b", "a"]);
        assert_eq!(settings.extract[0].format, Format::Csv);
        let shown: Vec<String> = settings.extract[0]
            .entries
            .iter()
            .map(|(key, value, origin)| format!("{key}: {value}: {origin}"))
            .collect();
        assert_eq!(
            shown,
            [
                "paths: [\"/p/*\"]: line 4",
                "select: \"li\": line 5",
                "output: \"z.csv\": line 6",
                "fields.name: \"b\": line 8",
                "fields.age: \"i\" type = \"number\" decimal = \",\": line 9",
                "fields.list: \"u\" type = \"list\" of = \"url\" default = [\"x\"]: line 10",
            ]
        );
        let debug = format!("{settings:?}");
        assert!(
            debug.contains("extract.a.fields.b: attr = \"id\" required"),
            "{debug}"
        );
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_its_place() {
        refused(
            "[extract.p]\npaths = [\"p/*\", \"/ok\"]\nselect = \"li >\"\nfield = 1\nfields = { a = \"p:first\", url = \"h1\" }\n",
            &[
                "4:10: extract.p.paths: path pattern \"p/*\" must start with `/` or `*`",
                "5:10: extract.p.select: \"li >\" is no CSS selector: it ends in a combinator",
                "6:1: extract.p.field: unknown key; did you mean fields?",
                "7:16: extract.p.fields.a: \"p:first\" is no CSS selector: it has a pseudo-class or \
                 pseudo-element that pages do not have",
                "7:27: extract.p.fields.url: \"url\" is in every record already, and no name for a field",
            ],
        );
        refused(
            "[extract.p.fields]\na = { typ = \"number\" }\nb = { type = \"numbr\", decimal = \",\" }\n\
             c = { type = \"number\", decimal = \";\", default = \"x\" }\nd = { of = \"url\" }\n\
             e = { required = true, default = \"x\" }\nf = { pick = \"last\" }\ng = 5\n\
             h = { type = \"list\", default = \"x\" }\ni = { type = \"list\", of = \"list\" }\n",
            &[
                "4:7: extract.p.fields.a.typ: unknown key; did you mean type?",
                "5:14: extract.p.fields.b.type: must be \"text\" or \"number\" or \"date\" or \"url\" or \
                 \"html\" or \"list\", not \"numbr\"; did you mean \"number\"?",
                "6:34: extract.p.fields.c.decimal: must be \".\" or \",\", not \";\"",
                "6:49: extract.p.fields.c.default: must be a number, not a string",
                "7:12: extract.p.fields.d.of: is for type = \"list\"",
                "8:1: extract.p.fields.e: the field \"e\" cannot be required and have a default",
                "9:14: extract.p.fields.f.pick: is for type = \"number\"",
                "10:5: extract.p.fields.g: must be a string, not a whole number; put it in quotes",
                "11:32: extract.p.fields.h.default: must be a list, not a string",
                "12:27: extract.p.fields.i.of: must not be \"list\": lists hold no lists",
            ],
        );
    }

    #[test]
    fn a_table_without_fields_or_name_is_refused() {
        let hint = "write fields = { NAME = \"SELECTOR\" }";
        refused(
            "[extract.a]\nselect = \"li\"\n[extract.b]\nfields = {}\n[extract.c]\nfields = \"h1\"\npaths = []\n",
            &[
                &format!("3:10: extract.a.fields: is missing; {hint}"),
                "6:1: extract.b.fields: must not be empty",
                &format!("8:10: extract.c.fields: must be a table, not a string; {hint}"),
                "9:1: extract.c.paths: must not be empty; leave it out for every page",
            ],
        );
        let hint = "write [extract.NAME] above its keys";
        refused(
            "[extract]\nselect = \"h1\"",
            &[&format!(
                "4:1: extract.select: must be a table, not a string; {hint}"
            )],
        );
        refused(
            "[extract]\nfields = { x = \"h1\" }",
            &[&format!(
                "4:1: extract.fields: must be in a table that has a name; {hint}"
            )],
        );
        refused(
            "[[extract]]\na = 1",
            &[&format!(
                "3:3: extract: must be a table, not a list; {hint}"
            )],
        );
        refused(
            "[extrct.a]\nx = 1",
            &["3:2: extrct: unknown table; did you mean [extract]?"],
        );
    }

    #[test]
    fn outputs_that_share_a_file_share_its_format_and_none_is_taken() {
        let fields = "fields = { a = \"h1\" }";
        refused(
            &format!(
                "[output]\nlog = \"l.jsonl\"\npath = \"p.csv\"\n[extract.a]\n{fields}\noutput = \"l.jsonl\"\n\
                 [extract.b]\n{fields}\noutput = \"x.jsonl\"\n[extract.c]\n{fields}\noutput = \"./x.jsonl\"\nformat = \"csv\"\n\
                 [extract.d]\n{fields}\nformat = \"jsonl\"\n"
            ),
            &[
                "8:10: extract.a.output: is the file of another output",
                "15:1: extract.c.format: is not the format of the others that write the same file",
                "18:1: extract.d.format: is not the format of the others that write the same file",
            ],
        );
        refused(
            &format!(
                "[output]\npath = \"p.csv\"\nmetrics = \"m\"\n[extract.a]\n{fields}\noutput = \"m\"\n\
                 [extract.b]\n{fields}\noutput = \"s/b\"\n[extract.c]\n{fields}\noutput = \"s/b\"\n[state]\ndir = \"s\"\n"
            ),
            &[
                "8:1: extract.a.output: is the file of another output",
                "11:1: extract.b.output: is inside state.dir",
            ],
        );
        let settings = seeded(&format!(
            "[output]\npath = \"p.csv\"\n[extract.a]\n{fields}\noutput = \"p.csv\"\n[extract.b]\n{fields}\noutput = \"y.txt\"\nformat = \"csv\"\n"
        ))
        .expect("valid");
        assert_eq!(settings.extract[0].output, None, "that of the pages");
        assert_eq!(settings.extract[1].format, Format::Csv);
    }

    #[test]
    fn what_comes_from_the_environment_is_not_shown() {
        let settings =
            seeded("[extract.a]\nselect = \"${CSS}\"\nfields = { b = \"${CSS}\", c = \"i\" }\n")
                .expect("valid");
        let shown: Vec<&str> = settings.extract[0]
            .entries
            .iter()
            .map(|(_, value, _)| value.as_str())
            .collect();
        assert_eq!(shown, ["***", "***", "\"i\""]);
        assert!(!format!("{settings:?}").contains("h1"));
    }

    #[test]
    fn a_key_can_be_set_on_the_command_line() {
        let text = format!("{SEED}[extract.a]\nfields = {{ b = \"h1\" }}\n");
        let settings = Source::text(text)
            .set("extract.a.fields.c={select=\"i\",type=\"number\"}")
            .set("extract.a.output=c.csv")
            .set("extract.d.fields.e=b")
            .read()
            .expect("valid");
        let fields: Vec<_> = settings.extract[0]
            .rules
            .fields()
            .map(canter::select::Field::name)
            .collect();
        assert_eq!(fields, ["b", "c"], "the file's come first");
        assert_eq!(settings.extract[1].rules.name(), "d");
    }
}
