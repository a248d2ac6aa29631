//! Asks a service for its metrics.
use crate::answer::SERVICE;
use crate::grpc::{framed, unframed};
use crate::names::{DUTY_CYCLE, HBM_TOTAL, HBM_USAGE, PROCESS, TOPOLOGY};
use crate::socket::{Socket, Task};
use crate::{Device, Reading};
use bytes::Bytes;
use http::{Method, Request};
use rustix::event::{Timespec, poll};
use std::future::{Future as _, poll_fn};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;
use tpu_proto::Message as _;
use tpu_proto::runtime_metrics::gauge::Value;
use tpu_proto::runtime_metrics::metric::Measure;
use tpu_proto::runtime_metrics::{Metric, MetricRequest, MetricResponse};

/// The longest answer.
const LONGEST: usize = 1 << 24;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Nobody listens, or not to this.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Who listens speaks no HTTP/2.
    #[error("it does not speak gRPC: {0}")]
    Protocol(#[from] h2::Error),
    /// The service refused the call.
    #[error("it refuses {name}: {why}")]
    Refused {
        /// What was asked for.
        name: String,
        /// In the service's words.
        why: String,
    },
    /// The answer is none.
    #[error("its answer about {0} cannot be read")]
    Unreadable(String),
}

/// A service on this host.
#[derive(Debug, Clone, Copy)]
pub struct Client {
    port: u16,
    patience: Duration,
}

impl Client {
    /// The service at a port, which may be silent for so long.
    pub fn new(port: u16, patience: Duration) -> Self {
        Self { port, patience }
    }

    /// What the emulator behind the service has and does, as far as a client can know it.
    ///
    /// # Errors
    /// Where nobody answers, or no emulator.
    pub fn read(&self) -> Result<Reading, AskError> {
        let topology = match self.values(TOPOLOGY)?.pop() {
            Some(Value::AsString(topology)) => topology,
            _ => return Err(AskError::Unreadable(TOPOLOGY.to_owned())),
        };
        let process = self.values(PROCESS)?.pop().map_or(0, number);
        let totals = self.values(HBM_TOTAL)?.into_iter().map(number);
        let usages = self.values(HBM_USAGE)?.into_iter().map(number);
        let devices = totals.zip(usages);
        let devices = devices.map(|(total, in_use)| Device { total, in_use, ..Device::default() });
        let duty = self.values(DUTY_CYCLE)?.into_iter().map(share).collect();
        Ok(Reading {
            topology,
            process: u32::try_from(process).unwrap_or(0),
            devices: devices.collect(),
            duty,
        })
    }

    /// The values of a metric, in their order.
    fn values(&self, name: &str) -> Result<Vec<Value>, AskError> {
        let request = MetricRequest { metric_name: name.to_owned(), skip_node_aggregation: false };
        let answer = self.call("GetRuntimeMetric", name, &request.encode_to_vec())?;
        let unreadable = || AskError::Unreadable(name.to_owned());
        let response = MetricResponse::decode(&*answer).map_err(|_| unreadable())?;
        let metrics = response.metric.ok_or_else(unreadable)?.metrics;
        let value = |metric: Metric| match metric.measure {
            Some(Measure::Gauge(gauge)) => gauge.value.ok_or_else(unreadable),
            _ => Err(unreadable()),
        };
        metrics.into_iter().map(value).collect()
    }

    /// Makes one call.
    fn call(&self, method: &str, name: &str, message: &[u8]) -> Result<Vec<u8>, AskError> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let stream = TcpStream::connect_timeout(&address, self.patience)?;
        let path = format!("http://localhost:{}{SERVICE}{method}", self.port);
        let body = Bytes::from(framed(message));
        let name = name.to_owned();
        let mut task = Task::new(stream, |socket| exchange(socket, path, body, name))?;
        let patience = Timespec::try_from(self.patience).ok();
        loop {
            if let Some(answer) = task.go_on() {
                return answer;
            }
            match poll(&mut [task.waits_for()], patience.as_ref()) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::TimedOut).into()),
                Ok(_) | Err(rustix::io::Errno::INTR) => task.wake(),
                Err(why) => return Err(io::Error::from(why).into()),
            }
        }
    }
}

/// One call over a connection of its own.
async fn exchange(
    socket: Socket,
    path: String,
    body: Bytes,
    name: String,
) -> Result<Vec<u8>, AskError> {
    let (sender, connection) = h2::client::handshake(socket).await?;
    let mut connection = pin!(connection);
    let mut asking = pin!(async move {
        let mut sender = sender.ready().await?;
        let request = Request::builder().method(Method::POST).uri(path);
        let request = request.header("content-type", "application/grpc").header("te", "trailers");
        let request = request.body(()).map_err(io::Error::other)?;
        let (response, mut stream) = sender.send_request(request, false)?;
        stream.send_data(body, true)?;
        let (head, mut body) = response.await?.into_parts();
        let refused = |headers: &http::HeaderMap| {
            let text = |name: &str| Some(headers.get(name)?.to_str().ok()?.to_owned());
            let status = text("grpc-status").filter(|status| status != "0")?;
            let why = text("grpc-message").unwrap_or_else(|| format!("status {status}"));
            Some(AskError::Refused { name: name.clone(), why })
        };
        if let Some(refusal) = refused(&head.headers) {
            return Err(refusal);
        }
        let mut bytes = Vec::new();
        while let Some(part) = body.data().await {
            let part = part?;
            body.flow_control().release_capacity(part.len())?;
            bytes.extend(&part);
            if bytes.len() > LONGEST {
                return Err(AskError::Unreadable(name));
            }
        }
        if let Some(refusal) = body.trailers().await?.as_ref().and_then(refused) {
            return Err(refusal);
        }
        let message = unframed(&bytes).map(<[u8]>::to_vec);
        message.map_err(|_| AskError::Unreadable(name))
    });
    poll_fn(|context| {
        if let Poll::Ready(answer) = asking.as_mut().poll(context) {
            return Poll::Ready(answer);
        }
        // Its end is what the call hears of as an error of its own, here or at the next look.
        if connection.as_mut().poll(context).is_ready() {
            return match asking.as_mut().poll(context) {
                Poll::Ready(answer) => Poll::Ready(answer),
                Poll::Pending => {
                    Poll::Ready(Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()))
                }
            };
        }
        asking.as_mut().poll(context)
    })
    .await
}

fn number(value: Value) -> u64 {
    match value {
        Value::AsInt(number) => u64::try_from(number).unwrap_or(0),
        _ => 0,
    }
}

fn share(value: Value) -> f64 {
    match value {
        Value::AsDouble(share) => share,
        _ => 0.0,
    }
}
