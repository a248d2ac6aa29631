//! What each call of the service is answered.
use crate::grpc::Status;
use crate::names::{
    ALL, DUTY_CYCLE, HBM_TOTAL, HBM_USAGE, IDLE, PROCESS, QUEUE, TIMINGS, TOPOLOGY,
};
use crate::{Device, Reading, Source};
use tpu_proto::runtime_metrics::{
    AttrValue, Attribute, CoreIdentifier, CoreOnChip, CoreState, CoreType, Gauge,
    GetTpuRuntimeStatusResponse, KeyValueList, ListSupportedMetricsRequest,
    ListSupportedMetricsResponse, Metric, MetricRequest, MetricResponse, SupportedMetric,
    TpuMetric, attr_value::Attr, gauge::Value, metric::Measure,
};
use tpu_proto::{DecodeError, Message};

/// Where the service's calls are.
pub(crate) const SERVICE: &str = "/tpu.monitoring.runtime.RuntimeMetricService/";

/// Why a call is refused.
pub(crate) type Refusal = (Status, String);

/// The answer to a call by its path and its message.
///
/// # Errors
/// How gRPC ends a call that cannot be answered.
pub(crate) fn answer(source: &dyn Source, path: &str, message: &[u8]) -> Result<Vec<u8>, Refusal> {
    let bad = |why: DecodeError| (Status::InvalidArgument, why.to_string());
    match path.strip_prefix(SERVICE) {
        Some("GetRuntimeMetric") => {
            let name = MetricRequest::decode(message).map_err(bad)?.metric_name;
            let known = ALL.iter().find(|(known, _)| *known == name);
            let (name, description) = known.ok_or_else(|| {
                (Status::NotFound, format!("the emulator has no metric {name:?}"))
            })?;
            let metric = TpuMetric {
                name: (*name).to_owned(),
                description: (*description).to_owned(),
                metrics: values(name, &source.look()),
            };
            Ok(MetricResponse { metric: Some(metric) }.encode_to_vec())
        }
        Some("ListSupportedMetrics") => {
            let part = ListSupportedMetricsRequest::decode(message).map_err(bad)?.filter;
            let fitting = ALL.iter().filter(|(name, _)| name.contains(&part));
            let supported_metric = fitting
                .map(|(name, _)| SupportedMetric { metric_name: (*name).to_owned() })
                .collect();
            Ok(ListSupportedMetricsResponse { supported_metric }.encode_to_vec())
        }
        Some("GetTpuRuntimeStatus") => Ok(cores(&source.look()).encode_to_vec()),
        _ => Err((Status::Unimplemented, format!("there is no call {path:?}"))),
    }
}

/// All values of a metric.
fn values(name: &str, reading: &Reading) -> Vec<Metric> {
    let by_device = |value: &dyn Fn(&Device) -> Value| {
        let devices = (0..).zip(&reading.devices);
        devices.map(|(at, device)| gauge(Some(by_number(at)), value(device))).collect()
    };
    match name {
        HBM_TOTAL => by_device(&|device| Value::AsInt(number(device.total))),
        HBM_USAGE => by_device(&|device| Value::AsInt(number(device.in_use))),
        IDLE => by_device(&|device| Value::AsDouble(device.idle.as_secs_f64())),
        DUTY_CYCLE => {
            let all = (0..).zip(&reading.duty);
            all.map(|(at, &duty)| gauge(Some(by_number(at)), Value::AsDouble(duty))).collect()
        }
        QUEUE => {
            let devices = (0..).zip(&reading.devices);
            let value = |device: &Device| Value::AsInt(number(device.queued));
            devices.map(|(at, device)| gauge(Some(by_core(at)), value(device))).collect()
        }
        TIMINGS => {
            let devices = (0..).zip(&reading.devices);
            let metric = |(at, device): (i64, &Device)| Metric {
                attribute: Some(by_core(at)),
                measure: Some(Measure::Distribution(device.timings.message())),
            };
            devices.map(metric).collect()
        }
        TOPOLOGY => vec![gauge(None, Value::AsString(reading.topology.clone()))],
        PROCESS => vec![gauge(None, Value::AsInt(reading.process.into()))],
        _ => Vec::new(),
    }
}

fn gauge(attribute: Option<Attribute>, value: Value) -> Metric {
    Metric { attribute, measure: Some(Measure::Gauge(Gauge { value: Some(value) })) }
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn attribute(key: &str, attr: Attr) -> Attribute {
    Attribute { key: key.to_owned(), value: Some(AttrValue { attr: Some(attr) }) }
}

fn by_number(device: i64) -> Attribute {
    attribute("device-id", Attr::IntAttr(device))
}

/// What newer metrics belong to: a list of attributes.
fn by_core(device: i64) -> Attribute {
    let attributes = vec![
        attribute("device_ordinal", Attr::IntAttr(device)),
        attribute("core_type", Attr::StringAttr("tensor_core".to_owned())),
    ];
    attribute("core", Attr::KvlistAttr(KeyValueList { attributes }))
}

/// The cores, by their numbers on the host.
fn cores(reading: &Reading) -> GetTpuRuntimeStatusResponse {
    let states = (0..).zip(&reading.devices).map(|(at, device)| {
        let core = CoreOnChip {
            r#type: Some(CoreType::TensorCore.into()),
            index: Some(device.core_on_chip),
        };
        let core_id = CoreIdentifier {
            global_core_id: Some(at),
            chip_id: Some(device.chip),
            core_on_chip: Some(core),
        };
        (at, CoreState { core_id: Some(core_id), xdb_server_running: Some(false) })
    });
    GetTpuRuntimeStatusResponse { host_name: None, core_states: states.collect() }
}
